package capacity

var Middle = middle
