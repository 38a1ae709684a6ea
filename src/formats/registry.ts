import type { Codec } from '../core/codec.ts'
import { PlimsollError } from '../core/errors.ts'
import type { PromptFraming } from '../core/wire-traits.ts'
import type { Wire } from './wire/wire.ts'
import { WIRES, wires, type WireFormat } from './wires.ts'

export type { Wire } from './wire/wire.ts'
export { detectFormat } from './wires.ts'
export { wires, type WireFormat } from './wires.ts'
export { classifyProviderError } from './overflow/classify.ts'

export const byName: ReadonlyMap<string, Wire> = new Map(wires.map((wire) => [wire.id, wire]))

/** Their names. */
export const WIRE_FORMATS: readonly WireFormat[] = wires.map(({ id }) => id as WireFormat)

/** Their codecs by name. */
export const CODECS = Object.fromEntries(wires.map(({ id, codec }) => [id, codec])) as Readonly<
  Record<WireFormat, Codec>
>

/** The same, for code that is handed them. */
export const codecs: ReadonlyMap<string, Codec> = new Map(wires.map(({ id, codec }) => [id, codec]))

export const isWire = (format: unknown): format is WireFormat =>
  typeof format === 'string' && Object.hasOwn(WIRES, format)

/** @throws PlimsollError with code `unsupported` for a name that is no wire. */
export function wireOf(format: string): Wire {
  if (isWire(format)) return WIRES[format]
  throw new PlimsollError('unsupported', `There is no wire format called ${format}.`, {
    advice: `Use one of ${Object.keys(WIRES).join(', ')}.`,
    fields: { format },
  })
}

/** @throws PlimsollError with code `unsupported` for a name that is no wire. */
export const codecOf = (format: string): Codec => wireOf(format).codec

/** How a wire frames its prompts, for the meter. */
export const framingOfWire = (format: string): PromptFraming | undefined => codecs.get(format)?.traits.promptFraming
