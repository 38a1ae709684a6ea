import type { Draft } from '../cascade/draft.ts'
import { excerptOf } from './transcript.ts'

const QUOTE_BYTES = 2_000

/** What a person asked of this summary stays with it: code cannot follow it, the next model can. */
export const askedFor = ({ instructions }: Pick<Draft, 'instructions'>): string =>
  instructions === undefined ? '' : `The user asked of this summary: ${excerptOf(instructions, QUOTE_BYTES)}`
