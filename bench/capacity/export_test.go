package capacity

// Middle exports middle.
var Middle = middle
