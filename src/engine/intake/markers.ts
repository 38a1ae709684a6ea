import { counted, grouped } from './text.ts'

/**
 * Every marker that a view or a guard writes. They live in one place because the same list tells `neutralise` what tool
 * text may not imitate.
 */

/** Our own notices begin with this; in JSON the notice stands under `NOTICE_KEY`. */
export const NOTICE_OPEN = '[plimsoll: '
export const NOTICE_KEY = '_plimsoll'

export const omittedLines = (omitted: number, total: number): string =>
  `[... omitted ${grouped(omitted)} of ${grouped(total)} lines ...]`
export const omittedChars = (omitted: number, total: number): string =>
  `[... omitted ${grouped(omitted)} of ${grouped(total)} chars ...]`

/** AutoSRE's safety net for strings. */
export const SRE_TRUNCATED = '[TRUNCATED BY SRE AGENT SAFETY GUARD]'

/** Cyber-AutoAgent's header and footer around an externalised output. */
export const cyberHeader = (total: number, preview: number, path: string): string =>
  `[Tool output: ${grouped(total)} chars total | Preview: ${grouped(preview)} chars below | Full: ${path}]`
export const cyberFooter = (path: string): string => `[Complete output saved to: ${path}]`
export const cyberCutHeader = (total: number, preview: number): string =>
  `[Tool output: ${grouped(total)} chars total | Preview: ${grouped(preview)} chars below]`
/** Cyber-AutoAgent's mark on compressed text. */
export const cyberTruncated = (chars: number): string => `... [truncated from ${chars} chars]`

/** ai-agent's marker inside a 50/50 cut. */
export const aiAgentTruncated = (omitted: number, unit: 'bytes' | 'chars' | 'tokens'): string =>
  `[···TRUNCATED ${omitted} ${unit}···]`

export const moreItems = (count: number): string => `… ${counted(count, 'more item')}`
export const moreKeys = (count: number): string => counted(count, 'more key')

/** What tool text may not contain as it is. Each match loses the character that makes it work. */
export const LOOKALIKES: readonly RegExp[] = [
  /\[(?=plimsoll\b)/gi,
  /\[(?=\.\.\. omitted \d)/g,
  /\[(?=TRUNCATED BY SRE AGENT)/g,
  /\[(?=Tool output: [\d,]+ chars total)/g,
  /\[(?=Complete output saved to:)/g,
  /\[(?=Artifact head - \d)/g,
  /\[(?=truncated from [\d,]+ chars\])/g,
  /\[(?=···TRUNCATED )/g,
]
