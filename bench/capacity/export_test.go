package capacity

// Middle is what the check takes of several runs.
var Middle = middle
