import { LOOKALIKES, NOTICE_KEY } from './text.ts'

/**
 * Makes tool text safe to show. The stored original is never touched: these functions make the copy that goes into the
 * conversation.
 */

/* eslint-disable no-control-regex -- control characters are the subject here */
const CSI = /\u001b\[[0-?]*[ -/]*[@-~]/g
const OSC = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\|$)/g
const STRING_SEQUENCE = /\u001b[PX^_][^\u001b]*(?:\u001b\\|$)/g
const OTHER_ESCAPE = /\u001b[ -/]*[0-~]?/g
/** C1 forms of the same, as some terminals write them. */
const CSI_C1 = /\u009b[0-?]*[ -/]*[@-~]/g
const OVERSTRIKE = /[^\b\n]\u0008/g
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u0080-\u0084\u0086-\u009f]/g
const NEEDS_CLEANING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|\p{Surrogate}/u
/* eslint-enable no-control-regex */
const LONE_SURROGATE = /\p{Surrogate}/gu

/** Lone surrogates make a request body that strict parsers reject for good, so they become U+FFFD. */
export const wellFormed = (text: string): string => text.replace(LONE_SURROGATE, '\uFFFD')

/** Colours, cursor movements, titles and hyperlinks of a terminal, C0 and C1 controls. Tabs and line breaks stay. */
function stripTerminal(text: string): string {
  let out = text
  if (out.includes('\u001b')) {
    out = out.replace(CSI, '').replace(OSC, '').replace(STRING_SEQUENCE, '').replace(OTHER_ESCAPE, '')
  }
  if (out.includes('\u009b')) out = out.replace(CSI_C1, '')
  if (out.includes('\r')) out = overwrite(out)
  if (out.includes('\b')) out = out.replace(OVERSTRIKE, '')
  return out.replace(CONTROLS, '')
}

/** A progress bar writes over its own line: what a person would see is the last state. */
function overwrite(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  return lines.map((line) => (line.includes('\r') ? lastState(line) : line)).join('\n')
}

function lastState(line: string): string {
  const trimmed = line.endsWith('\r') ? line.replace(/\r+$/, '') : line
  return trimmed.slice(trimmed.lastIndexOf('\r') + 1)
}

/** Terminal codes out, lone surrogates replaced. Returns the same string when there is nothing to do. */
export function sanitise(text: string): string {
  if (!NEEDS_CLEANING.test(text)) return text
  return wellFormed(stripTerminal(text))
}

const HANDLE = /art_(?=[0-9a-hjkmnp-tv-z]{26})/g

/**
 * Breaks look-alikes of our own notices and handles in tool text (a forged handle must not resolve, a forged notice must
 * not be believed). Handles in `known` were issued to this session and stay.
 */
export function neutralise(text: string, known: readonly string[] = []): string {
  let out = text
  if (out.includes('[')) for (const pattern of LOOKALIKES) out = out.replace(pattern, '(')
  if (out.includes('art_')) {
    out = out.replace(HANDLE, (match, at: number) => (known.includes(out.slice(at, at + 30)) ? match : 'art-'))
  }
  if (out.includes(`"${NOTICE_KEY}"`)) out = out.replaceAll(`"${NOTICE_KEY}"`, `"input:${NOTICE_KEY}"`)
  return out
}
