import { describe, expect, it } from 'vitest'
import { alignChain, chainOf } from '../../src/core/chain.ts'
import { CLAUDE_CODE, PLAIN_CLIENT, type ClientProfile } from '../../src/core/identity.ts'
import { sha256 } from '../support/hash.ts'
import { CODECS } from '../support/wires.ts'
import type { WireName } from '../support/generators/index.ts'

/**
 * What clients really do to a history between two requests. A mutation that says the same thing keeps the chain, so that
 * standing edits still apply; one that says something else breaks it from there on.
 */

type Json = Record<string, unknown>

function chain(wire: WireName, body: Json, profile: ClientProfile = PLAIN_CLIENT): string[] {
  const { items } = CODECS[wire].decode(JSON.stringify(body))
  return chainOf(items, sha256, profile).map((link) => link.chain)
}

function identities(wire: WireName, body: Json, profile: ClientProfile = CLAUDE_CODE): string[] {
  const { items } = CODECS[wire].decode(JSON.stringify(body))
  return chainOf(items, sha256, profile).map((link) => link.identity)
}

const MARK = { cache_control: { type: 'ephemeral' } }
const REMINDER = '<system-reminder>The todo list is empty.</system-reminder>'

interface Block extends Json {
  type: string
}

/** A Claude Code like request: system text, thinking, a parallel step, a server tool, a plain answer. */
function claude(): { system: Block[]; messages: { role: string; content: string | Block[] }[] } {
  return {
    system: [{ type: 'text', text: 'You are a pilot. Today is 2026-11-14.' }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Read the log.' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Two files.', signature: 'c2ln' },
          { type: 'text', text: 'I will read both.' },
          { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a.log', limit: 10 } },
          { type: 'tool_use', id: 'toolu_2', name: 'read', input: { path: 'b.log' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: 'alpha' },
          { type: 'tool_result', tool_use_id: 'toolu_2', content: [{ type: 'text', text: 'beta' }] },
          { type: 'container_upload', file_id: 'file_1' },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'Both are short.' }] },
      { role: 'user', content: 'Go on.' },
    ],
  }
}

function chat(): { messages: Json[] } {
  return {
    messages: [
      { role: 'system', content: 'You are a pilot. Today is 2026-11-14.' },
      { role: 'user', content: 'Read the log.' },
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'One file.',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path":"a.log","limit":10}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'alpha' },
      { role: 'assistant', content: 'It is short.' },
    ],
  }
}

const mutated = <T>(body: T, change: (body: T) => void): T => {
  const copy = structuredClone(body)
  change(copy)
  return copy
}

const blocks = (body: ReturnType<typeof claude>, message: number): Block[] => body.messages[message]!.content as Block[]

describe('cache marks', () => {
  it.each([
    ['a text block', 0, 0],
    ['a call', 1, 2],
    ['a tool result', 2, 1],
    ['a block that we cannot name', 2, 2],
  ])('keeps the chain when a mark moves to %s', (_name, message, block) => {
    const marked = mutated(claude(), (body) => Object.assign(blocks(body, message)[block]!, MARK))
    expect(chain('anthropic-messages', marked)).toEqual(chain('anthropic-messages', claude()))
  })

  it('keeps the chain when a mark turns a string into a block', () => {
    const marked = mutated(claude(), (body) => {
      body.messages[4]!.content = [{ type: 'text', text: 'Go on.', ...MARK }]
    })
    expect(chain('anthropic-messages', marked)).toEqual(chain('anthropic-messages', claude()))
  })

  it('keeps the chain when a mark is set inside a result', () => {
    const marked = mutated(claude(), (body) => {
      blocks(body, 2)[1]!['content'] = [{ type: 'text', text: 'beta', ...MARK }]
    })
    expect(chain('anthropic-messages', marked)).toEqual(chain('anthropic-messages', claude()))
  })
})

describe('reminders', () => {
  const injections: [string, (body: ReturnType<typeof claude>) => void][] = [
    ['as a block of its own', (body) => void blocks(body, 0).unshift({ type: 'text', text: REMINDER })],
    ['at the end of a text', (body) => void (blocks(body, 0)[0]!['text'] = `Read the log.\n${REMINDER}`)],
    ['at the end of a result', (body) => void (blocks(body, 2)[0]!['content'] = `alpha\n\n${REMINDER}`)],
    ['twice', (body) => void (blocks(body, 0)[0]!['text'] = `${REMINDER}Read the log.${REMINDER}`)],
  ]

  it.each(injections)('come and go %s without a change of the chain', (_name, inject) => {
    const injected = mutated(claude(), inject)
    expect(chain('anthropic-messages', injected, CLAUDE_CODE)).toEqual(
      chain('anthropic-messages', claude(), CLAUDE_CODE),
    )
  })

  it.each(injections)('are ordinary text for a client that is not known to inject them (%s)', (_name, inject) => {
    const injected = mutated(claude(), inject)
    expect(chain('anthropic-messages', injected)).not.toEqual(chain('anthropic-messages', claude()))
  })

  it('leave text alone that only mentions the opening mark', () => {
    const mention = mutated(claude(), (body) => void (blocks(body, 0)[0]!['text'] = 'What is <system-reminder> for?'))
    const other = mutated(claude(), (body) => void (blocks(body, 0)[0]!['text'] = 'What is <system-reminder> about?'))
    expect(chain('anthropic-messages', mention, CLAUDE_CODE)).not.toEqual(
      chain('anthropic-messages', other, CLAUDE_CODE),
    )
  })
})

describe('the head', () => {
  it('may change its date without a change of the chain', () => {
    const tomorrow = mutated(
      claude(),
      (body) => void (body.system[0]!['text'] = 'You are a pilot. Today is 2026-11-15.'),
    )
    expect(chain('anthropic-messages', tomorrow)).toEqual(chain('anthropic-messages', claude()))
    const chatTomorrow = mutated(chat(), (body) => void (body.messages[0]!['content'] = 'Today is 2026-11-15.'))
    expect(chain('openai-chat', chatTomorrow)).toEqual(chain('openai-chat', chat()))
  })

  it('may be split, joined or renamed to developer', () => {
    const split = mutated(chat(), (body) => {
      body.messages[0] = { role: 'developer', content: [{ type: 'text', text: 'You are a pilot.' }] }
      body.messages.splice(1, 0, { role: 'system', content: 'Today is 2026-11-14.' })
    })
    expect(chain('openai-chat', split)).toEqual(chain('openai-chat', chat()))
  })
})

describe('the same thing in another form', () => {
  const same: [string, WireName, Json, Json][] = [
    [
      'arguments with other key order',
      'anthropic-messages',
      claude(),
      mutated(claude(), (body) => void (blocks(body, 1)[2]!['input'] = { limit: 10, path: 'a.log' })),
    ],
    [
      'arguments written again with white space',
      'openai-chat',
      chat(),
      mutated(chat(), (body) => {
        const [call] = body.messages[2]!['tool_calls'] as { function: Json }[]
        call!.function['arguments'] = '{ "limit": 10.0, "path": "a.log" }'
      }),
    ],
    [
      'a string as a block',
      'anthropic-messages',
      claude(),
      mutated(claude(), (body) => void (body.messages[3]!.content = 'Both are short.')),
    ],
    [
      'a result as a block',
      'anthropic-messages',
      claude(),
      mutated(claude(), (body) => void (blocks(body, 2)[0]!['content'] = [{ type: 'text', text: 'alpha' }])),
    ],
    [
      'chat content as parts',
      'openai-chat',
      chat(),
      mutated(chat(), (body) => {
        for (const message of body.messages) {
          if (typeof message['content'] === 'string') message['content'] = [{ type: 'text', text: message['content'] }]
        }
      }),
    ],
    [
      'white space trimmed',
      'anthropic-messages',
      mutated(claude(), (body) => void (blocks(body, 3)[0]!['text'] = 'Both are short.\n\n')),
      claude(),
    ],
    [
      'empty content for null',
      'openai-chat',
      chat(),
      mutated(chat(), (body) => void (body.messages[2]!['content'] = '')),
    ],
    [
      'no content key for null',
      'openai-chat',
      chat(),
      mutated(chat(), (body) => void delete body.messages[2]!['content']),
    ],
    ['old thinking dropped', 'anthropic-messages', claude(), mutated(claude(), (body) => void blocks(body, 1).shift())],
    [
      'a Responses item without its id and status',
      'openai-responses',
      {
        input: [
          { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Read it.' }] },
          { type: 'reasoning', id: 'rs_1', summary: [] },
          {
            type: 'function_call',
            id: 'fc_1',
            call_id: 'c1',
            name: 'read',
            arguments: '{"a":1,"b":2}',
            status: 'completed',
          },
          { type: 'function_call_output', call_id: 'c1', output: 'alpha' },
        ],
      },
      {
        input: [
          { role: 'user', content: 'Read it.' },
          { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{"b":2, "a":1}' },
          { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'alpha' }] },
        ],
      },
    ],
    [
      'a Gemini body in snake case, without signatures and thoughts',
      'gemini',
      {
        contents: [
          { role: 'user', parts: [{ text: 'Read it.' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
          {
            role: 'model',
            parts: [
              { text: 'Hm.', thought: true },
              { functionCall: { name: 'read', args: { a: 1, b: 2 } }, thoughtSignature: 'c2ln' },
            ],
          },
          { role: 'user', parts: [{ functionResponse: { name: 'read', response: { output: 'alpha', lines: 1 } } }] },
        ],
      },
      {
        contents: [
          { parts: [{ text: 'Read it. ' }, { inline_data: { mime_type: 'image/png', data: 'AAAA' } }] },
          { role: 'model', parts: [{ function_call: { name: 'read', args: { b: 2, a: 1 } } }] },
          { role: 'function', parts: { function_response: { name: 'read', response: { output: 'alpha', lines: 1 } } } },
        ],
      },
    ],
    [
      'old reasoning dropped',
      'openai-chat',
      chat(),
      mutated(chat(), (body) => void delete body.messages[2]!['reasoning_content']),
    ],
  ]

  it.each(same)('keeps the chain: %s', (_name, wire, before, after) => {
    expect(chain(wire, after)).toEqual(chain(wire, before))
  })
})

describe('another thing', () => {
  it.each([
    ['a result', (body: ReturnType<typeof claude>) => void (blocks(body, 2)[0]!['content'] = 'alpha2')],
    ['an argument', (body: ReturnType<typeof claude>) => void (blocks(body, 1)[2]!['input'] = { path: 'c.log' })],
    ['a call id', (body: ReturnType<typeof claude>) => void (blocks(body, 1)[2]!['id'] = 'toolu_9')],
  ])('breaks the chain from %s on and keeps it before', (_name, change) => {
    const before = chain('anthropic-messages', claude())
    const after = chain('anthropic-messages', mutated(claude(), change))
    const broken = after.findIndex((hash, i) => hash !== before[i])
    expect(broken).toBeGreaterThan(0)
    expect(after.slice(broken).some((hash) => before.includes(hash))).toBe(false)
  })

  it('is a rewind when the history ends earlier: the chain is a prefix', () => {
    const rewound = mutated(claude(), (body) => void body.messages.splice(3))
    const now = chain('anthropic-messages', rewound)
    expect(chain('anthropic-messages', claude()).slice(0, now.length)).toEqual(now)
  })
})

/** A long session: 40 steps, each a call and its result. */
function session(): ReturnType<typeof claude> {
  const body = claude()
  for (let i = 0; i < 40; i++) {
    const id = `toolu_s${i}`
    body.messages.push({ role: 'assistant', content: [{ type: 'tool_use', id, name: 'read', input: { i } }] })
    body.messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: `line ${i}` }] })
  }
  return body
}

const share = (before: Json, after: Json): number => {
  const covered = identities('anthropic-messages', before)
  const { items } = CODECS['anthropic-messages'].decode(JSON.stringify(after))
  return alignChain(covered, chainOf(items, sha256, CLAUDE_CODE)).matched / covered.length
}

describe('near misses', () => {
  it('finds at least nine tenths when the client lost one step and rewrote one result', () => {
    const after = mutated(session(), (body) => {
      blocks(body, 40)[0]!['content'] = 'rewritten'
      body.messages.splice(20, 2)
    })
    expect(share(session(), after)).toBeGreaterThanOrEqual(0.9)
  })

  it('finds at least nine tenths when the client put messages in between', () => {
    const after = mutated(session(), (body) => {
      body.messages.splice(11, 0, { role: 'user', content: 'By the way.' }, { role: 'assistant', content: 'Yes?' })
    })
    expect(share(session(), after)).toBe(1)
  })

  it('finds little after the client compacted by itself, so an epoch does not apply', () => {
    const after = mutated(session(), (body) => {
      body.messages.splice(0, 70, { role: 'user', content: 'Summary of the work so far: much was read.' })
    })
    expect(share(session(), after)).toBeLessThan(0.9)
  })

  it('finds nothing in another conversation', () => {
    expect(share(session(), { messages: [{ role: 'user', content: 'Hello.' }] })).toBe(0)
  })
})
