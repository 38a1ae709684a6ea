/** Tokens of one model call, normalised: `input` is every prompt token, cached ones included. */
export interface Usage {
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite: number
  /** The part of `cacheWrite` that was written with the long (one hour) lifetime. */
  readonly cacheWriteLong?: number
  /** Everything the model produced, reasoning included. */
  readonly output: number
  readonly reasoning: number
}

export const NO_USAGE: Usage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }

export function addUsage(a: Usage, b: Usage): Usage {
  const cacheWriteLong = (a.cacheWriteLong ?? 0) + (b.cacheWriteLong ?? 0)
  return {
    input: a.input + b.input,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    ...(cacheWriteLong > 0 && { cacheWriteLong }),
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
  }
}
