/** For whoever makes an object, field by field: what is absent is not assigned, and objects that have the same fields share a shape. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] }
