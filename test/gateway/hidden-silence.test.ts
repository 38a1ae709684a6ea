import { describe, expect, it } from 'vitest'
import type { ModelResponse } from '../../src/core/codec.ts'
import { bytesOf } from '../../src/formats/framing.ts'
import { wireOf } from '../../src/formats/registry.ts'
import { eventsOf, type AnswerEnd } from '../../src/formats/wire/answer.ts'
import { createPlimsoll } from '../../src/index.ts'
import { PLAIN_WIRES } from './plain-wires.ts'

const CASES = Object.entries(PLAIN_WIRES).flatMap(([id, plain]) =>
  [false, true].flatMap((stream) => [[], ['thinking']].map((thoughts) => ({ id, plain, stream, thoughts }))),
)

describe('a model that calls nothing but tools of ours, which its request does not declare', () => {
  it.each(CASES)(
    'ends with a text on $id, streamed: $stream, after $thoughts',
    async ({ id, plain, stream, thoughts }) => {
      const wire = wireOf(id)
      let asked = 0
      const upstream = async (): Promise<Response> => {
        const writer = wire.answers.writer()
        const call = { kind: 'call' as const, text: '{"query":"parser"}', id: `call_${asked++}`, name: 'recall' }
        const thought = { kind: 'reasoning' as const, text: 'Let me look.' }
        const parts = [...(thoughts.length > 0 && writer.shows('reasoning') ? [thought] : []), call]
        const end: AnswerEnd = { parts, stop: 'tool-use' }
        const head = { id: `a${asked}`, model: 'm', nowSeconds: 1 }
        const type = stream ? wire.framing.contentType : 'application/json'
        const body = stream
          ? bytesOf(eventsOf(writer, head, end).map(wire.framing.write))
          : JSON.stringify(writer.whole(head, end))
        return new Response(new Uint8Array(Buffer.from(body)), { headers: { 'content-type': type } })
      }
      const plimsoll = createPlimsoll({ store: 'memory:', fetch: upstream })
      const request = { ...plain.request([{ user: 'Fix the parser.' }]), ...(id === 'gemini' ? {} : { stream }) }
      const url = stream ? plain.url.replace(':generateContent', ':streamGenerateContent?alt=sse') : plain.url
      const headers = { 'content-type': 'application/json', ...plain.key('k') }
      const response = await plimsoll.fetch(url, { method: 'POST', headers, body: JSON.stringify(request) })
      const bytes = Buffer.from(await response.arrayBuffer())
      let read: ModelResponse
      if (stream) {
        const reducer = wire.codec.stream()
        const parser = wire.framing.parser()
        for (const event of [...parser.push(bytes), ...parser.end()]) reducer.push(event)
        read = reducer.response()
      } else read = wire.codec.readResponse(JSON.parse(bytes.toString()))
      expect(asked).toBe(5)
      expect(read.items.filter(({ kind }) => kind === 'call')).toEqual([])
      expect(
        read.items
          .filter(({ kind }) => kind === 'assistant')
          .map((item) => item.text)
          .join(''),
      ).toContain('[plimsoll: the model called only tools')
      expect(read.stop).toBe('end')
      await plimsoll.close()
    },
  )
})
