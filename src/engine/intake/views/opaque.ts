import { magicOf, type Source } from '../source.ts'
import { counted, grouped } from '../text.ts'
import type { BodyView, ViewInput } from './view.ts'

const HEX_BYTES = 64

/** Bytes that are no text: what they are and how they begin. Never the bytes themselves. */
export function binaryView(source: Extract<Source, { encoding: 'binary' }>): BodyView {
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
export function base64View({ text, from, clean }: ViewInput): BodyView {
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
