/** A collision-resistant hash, passed in so that the core stays free of imports. Returns lower-case hex. */
export type Hash = (text: string) => string
