/**
 * A copy with more fields. Not `{ ...from, more }`: V8 makes a new shape for each object that gets fields behind a spread, in its runtime, and
 * whoever reads such objects meets a shape that it has never seen with every request.
 */
export const extended = <A extends object, B extends object>(from: A, more: B): A & B => Object.assign({}, from, more)
