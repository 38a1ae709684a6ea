import { expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'

/** Words that no two files share. */
function words(file: number, characters: number): string {
  let text = ''
  for (let line = 0; text.length < characters; line++)
    text += `Entry ${line} of file ${file}: the parcel ${(line * 7919 + file * 104_729) % 100_003} waits in hall ${line % 17}.\n`
  return text.slice(0, characters)
}

type Wire = 'anthropic-messages' | 'openai-chat' | 'openai-responses' | 'gemini'

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const dataUrl = (text: string): string => `data:text/plain;base64,${base64(text)}`

/** How a wire carries a file, and the words alone. */
const FILES: readonly (readonly [name: string, wire: Wire, file: (text: string) => object])[] = [
  [
    'plain',
    'anthropic-messages',
    (data) => ({ type: 'document', source: { type: 'text', media_type: 'text/plain', data } }),
  ],
  [
    'blocks',
    'anthropic-messages',
    (text) => ({ type: 'document', source: { type: 'content', content: [{ type: 'text', text }] } }),
  ],
  ['string', 'anthropic-messages', (content) => ({ type: 'document', source: { type: 'content', content } })],
  [
    'search',
    'anthropic-messages',
    (text) => ({ type: 'search_result', source: 'https://a', title: 't', content: [{ type: 'text', text }] }),
  ],
  ['file', 'openai-chat', (text) => ({ type: 'file', file: { filename: 'a.txt', file_data: dataUrl(text) } })],
  ['file', 'openai-responses', (text) => ({ type: 'input_file', filename: 'a.txt', file_data: dataUrl(text) })],
  ['inline', 'gemini', (text) => ({ inlineData: { mimeType: 'text/csv', data: base64(text) } })],
]
const PLAIN: Readonly<Record<Wire, (text: string) => object>> = {
  'anthropic-messages': (text) => ({ type: 'text', text }),
  'openai-chat': (text) => ({ type: 'text', text }),
  'openai-responses': (text) => ({ type: 'input_text', text }),
  gemini: (text) => ({ text }),
}

function bodyOf(wire: Wire, parts: readonly object[]): object {
  const asked = PLAIN[wire]('TASK: answer from these files.')
  if (wire === 'gemini') return { model: 'gemini-2.5-pro', contents: [{ role: 'user', parts: [...parts, asked] }] }
  const message = { role: 'user', content: [...parts, asked] }
  if (wire === 'openai-responses') return { model: 'gpt-4o', input: [message] }
  if (wire === 'openai-chat') return { model: 'gpt-4o', messages: [message] }
  return { model: 'claude-sonnet-4-5', max_tokens: 1_000, messages: [message] }
}

const open = () => createPlimsoll({ store: 'memory:', artifacts: 'memory:', secret: Buffer.alloc(32, 1) })

it.each(FILES)('%s of %s counts as its words', async (_, wire, file) => {
  const plimsoll = open()
  try {
    const text = words(1, 3_000)
    const load = async (id: string, part: object): Promise<number> => {
      const targets = [{ model: 'claude-sonnet-4-5', window: 64_000 }]
      const turn = await plimsoll.session({ id }).prepare({ format: wire, body: bodyOf(wire, [part]), targets })
      return turn.load.count.high
    }
    expect(await load('file', file(text))).toBe(await load('plain', PLAIN[wire](text)))
  } finally {
    await plimsoll.close()
  }
})

it.each(FILES)('%s of %s is shortened as text, and comes back whole', async (_, wire, file) => {
  const plimsoll = open()
  try {
    const texts = [1, 2, 3].map((n) => words(n, 60_000))
    const turn = await plimsoll.session({ id: 's' }).prepare({
      format: wire,
      body: bodyOf(wire, texts.map(file)),
      targets: [{ model: 'claude-sonnet-4-5', window: 32_000 }],
    })
    expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
    expect(turn.text).toContain('TASK: answer from these files.')
    const handles = new Set(turn.text.match(/art_[0-9a-z]{26}/g))
    const opened = await Promise.all([...handles].map((handle) => plimsoll.artifacts.read(handle as never)))
    const stored = opened.map((bytes) => Buffer.from(bytes!).toString())
    for (const text of texts) expect(stored).toContain(text)
  } finally {
    await plimsoll.close()
  }
})

/** A result that holds a file beside its words. */
const RESULTS: readonly (readonly [wire: Wire, body: (text: string) => object])[] = [
  ...(['plain', 'blocks', 'search'] as const).map((name): (typeof RESULTS)[number] => [
    'anthropic-messages',
    (text) => ({
      model: 'claude-sonnet-4-5',
      max_tokens: 1_000,
      messages: [
        { role: 'user', content: 'Read it.' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'read', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'c',
              content: [FILES.find(([one, wire]) => one === name && wire === 'anthropic-messages')![2](text)],
            },
          ],
        },
      ],
    }),
  ]),
  [
    'openai-responses',
    (text) => ({
      model: 'gpt-4o',
      input: [
        { role: 'user', content: 'Read it.' },
        { type: 'function_call', call_id: 'c', name: 'read', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: [FILES[5]![2](text)] },
      ],
    }),
  ],
  [
    'gemini',
    (text) => ({
      model: 'gemini-2.5-pro',
      contents: [
        { role: 'user', parts: [{ text: 'Read it.' }] },
        { role: 'model', parts: [{ functionCall: { name: 'read', args: {} } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'read', response: {}, parts: [FILES[6]![2](text)] } }] },
      ],
    }),
  ],
]

it.each(RESULTS)('%s: a file in a result counts and is shown as its words', async (format, body) => {
  const plimsoll = open()
  try {
    const session = plimsoll.session({ id: 's' })
    const targets = [{ model: 'gpt-4o', window: 32_000 }]
    const small = await session.prepare({ format, body: body(words(1, 3_000)), targets })
    expect(small.report.untouched).toBe(true)
    expect(small.load.count.low).toBeGreaterThan(500)
    const large = words(2, 400_000)
    const turn = await plimsoll.session({ id: 't' }).prepare({ format, body: body(large), targets })
    expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
    const [handle] = turn.text.match(/art_[0-9a-z]{26}/)!
    expect(Buffer.from((await plimsoll.artifacts.read(handle as never))!).toString()).toContain(large)
  } finally {
    await plimsoll.close()
  }
})

it('bytes that are no text stay a file', async () => {
  const plimsoll = open()
  try {
    const part = (bytes: Buffer) => ({ inlineData: { mimeType: 'text/plain', data: bytes.toString('base64') } })
    const body = bodyOf('gemini', [part(Buffer.from([0xff, 0xfe, 0x00, 0x41]))])
    const turn = await plimsoll.session({ id: 's' }).prepare({ format: 'gemini', body })
    expect(turn.report.untouched).toBe(true)
  } finally {
    await plimsoll.close()
  }
})
