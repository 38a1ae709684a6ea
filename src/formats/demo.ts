import { FORMAT } from './anthropic-messages/source.ts'

export { wire as DEMO_WIRE } from './anthropic-messages/wire.ts'

/** The wire that demonstrations speak: it shows most of what a wire can have. */
export const DEMO_FORMAT = FORMAT
