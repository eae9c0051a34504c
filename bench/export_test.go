package bench

// Shapes is shapes, for tests.
var Shapes = shapes
