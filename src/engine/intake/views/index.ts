import type { Inspected } from '../classify.ts'
import { csvView } from './csv.ts'
import { jsonLinesView, jsonView } from './json.ts'
import { logView } from './log.ts'
import { htmlView } from './html.ts'
import { base64View, binaryView } from './opaque.ts'
import { profileOf } from './profiles.ts'
import { textView } from './text.ts'
import type { BodyView, ViewInput } from './view.ts'
import { xmlView } from './xml.ts'

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
    ...(format !== undefined && { format }),
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
