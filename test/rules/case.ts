import type { RuleOptions } from '../../src/core/codec.ts'

/** A body that breaks one rule, and its twin: the same body with only that repaired. */
export interface RuleCase {
  readonly bad: unknown
  readonly good: unknown
  readonly options?: RuleOptions
  /** Rules that cannot be kept while this one is broken. */
  readonly also?: readonly string[]
  /** Size of the bad body on the wire; it is filled up with blanks. */
  readonly badBytes?: number
}

export type RuleCases<Rule extends string> = Readonly<Record<Rule, RuleCase | readonly RuleCase[]>>

/** A PNG header with the given size; enough for everyone who looks at pictures from outside. */
export function png(width: number, height: number, bytes = 64): string {
  const data = Buffer.alloc(bytes)
  data.writeUInt32BE(0x89504e47, 0)
  data.writeUInt32BE(0x0d0a1a0a, 4)
  data.write('IHDR', 12, 'latin1')
  data.writeUInt32BE(width, 16)
  data.writeUInt32BE(height, 20)
  return data.toString('base64')
}

export const LONE = 'half an emoji \ud83d'
