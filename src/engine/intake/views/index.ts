import { type Inspected, magicOf, type Source } from '../classify.ts'
import { counted, grouped } from '../text.ts'
import type { BodyView, ViewInput } from '../types.ts'
import { csvView } from './csv.ts'
import { jsonLinesView, jsonView } from './json.ts'
import { logView } from '../logs/log-view.ts'
import { htmlView, xmlView } from './markup.ts'
import { profileOf } from './profiles.ts'
import { textView } from './text.ts'

/** The best view for what an input is. Structured ones that turn out broken fall back to lines. */
export function chooseView(
  { source, classified, json }: Inspected,
  windowChars: number,
  clean: (text: string) => string,
): BodyView {
  if (source.encoding === 'binary') return binaryView(source)
  const { kind, format, preamble } = classified
  const input: ViewInput = {
    text: source.text,
    from: preamble,
    kind,
    format,
    windowChars: Math.max(4_000, windowChars),
    clean,
  }
  return structuredView(input, json) ?? textView(input, profileOf(kind === 'log' ? 'plain' : kind, format))
}

function structuredView(input: ViewInput, json: Inspected['json']): BodyView | undefined {
  if (json !== undefined) return jsonView(input, json)
  switch (input.kind) {
    case 'ndjson':
      return jsonLinesView(input)
    case 'log':
      return logView(input)
    case 'csv':
    case 'tsv':
      return csvView(input)
    case 'html':
      return htmlView(input)
    case 'xml':
      return xmlView(input)
    case 'base64':
      return base64View(input)
    default:
      return undefined
  }
}

const HEX_BYTES = 64

/** Bytes that are no text: what they are and how they begin. Never the bytes themselves. */
function binaryView(source: Extract<Source, { encoding: 'binary' }>): BodyView {
  const hexOf = (bytes: number): string => Buffer.from(source.data.subarray(0, bytes)).toString('hex')
  return {
    syntax: 'text',
    mode: 'description',
    render(chars) {
      // A hex digit is half a token or more.
      const shown = Math.min(HEX_BYTES, source.bytes, Math.floor((chars - source.mime.length - 30) / 4))
      const body =
        shown < 8 ? (chars >= 20 ? source.mime : '') : `${source.mime}; first ${shown} bytes: ${hexOf(shown)}`
      return { body, holds: 'type and first bytes', leftOut: counted(source.bytes, 'byte') }
    },
  }
}

/** Encoded bytes are noise to a model; what they decode to is the useful part. */
function base64View({ text, from, clean }: ViewInput): BodyView {
  const head = text
    .slice(from, from + 2_000)
    .replace(/^data:[^,]{0,100},/, '')
    .replace(/\s/g, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
  const data = Buffer.from(head.slice(0, 1_024), 'base64')
  const chars = text.length - from
  const magic = magicOf(data)
  const printable = /^[\t\n\r -~]{40,}/.exec(data.toString('latin1'))?.[0]
  return {
    syntax: 'text',
    mode: 'description',
    render(room) {
      const parts = [
        `base64, about ${grouped(Math.floor((chars * 3) / 4))} bytes when decoded${magic === undefined ? '' : `, looks like ${magic.mime}`}`,
        ...(printable === undefined || room < 200
          ? []
          : [`decoded text begins: ${printable.slice(0, Math.min(400, room - 120))}`]),
        ...(room < 300 ? [] : [`begins: ${text.slice(from, from + 60)}… ends: …${text.trimEnd().slice(-30)}`]),
      ]
      return { body: room < 60 ? '' : clean(parts.join('\n')), holds: 'a description', leftOut: counted(chars, 'char') }
    },
  }
}
