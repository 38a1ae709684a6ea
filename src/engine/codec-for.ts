import type { Codec } from '../core/codec.ts'
import { PlimsollError } from '../core/errors.ts'
import type { EngineDeps } from './deps.ts'

/** @throws PlimsollError `unsupported` that lists the formats there are. */
export function codecFor(deps: EngineDeps, format: string): Codec {
  const codec = deps.codecs.get(format)
  if (codec !== undefined) return codec
  throw new PlimsollError('unsupported', `There is no codec for ${JSON.stringify(format)}.`, {
    advice: `Known formats: ${[...deps.codecs.keys()].join(', ')}.`,
  })
}
