import type { GivenShape } from '../core/given.ts'
import type { Target } from '../core/target.ts'

const text: GivenShape = { kind: 'text' }
const any: GivenShape = { kind: 'any' }
const tokens: GivenShape = { kind: 'number', words: 'a number of tokens like 128_000', min: 1 }

/** What `session()` takes. */
export const SESSION: GivenShape = {
  kind: 'object',
  required: ['id'],
  fields: { id: text, agent: text, tenant: text, key: text },
}

export const TOOL_RESULT: GivenShape = {
  kind: 'object',
  required: ['tool', 'output'],
  fields: {
    tool: text,
    callId: text,
    output: {
      kind: 'either',
      of: [text, { kind: 'bytes' }],
      words: 'text or bytes (JSON.stringify what a tool returns as an object)',
    },
    model: text,
    window: tokens,
  },
}

const TARGET: GivenShape = {
  kind: 'object',
  required: ['model'],
  fields: {
    model: text,
    provider: text,
    endpoint: text,
    window: tokens,
    maxOutputTokens: tokens,
    learned: { kind: 'object', fields: { window: tokens, bodyBytes: tokens } },
    heldWithin: tokens,
    refusesOverflow: { kind: 'switch' },
  } satisfies Record<keyof Target, GivenShape>,
}

export const PREPARE: GivenShape = {
  kind: 'object',
  required: ['format', 'body'],
  fields: {
    format: text,
    body: {
      kind: 'either',
      of: [text, { kind: 'object', fields: {}, rest: any }],
      words: "the request's text or an object",
    },
    targets: { kind: 'list', of: TARGET },
    expectedCalls: { kind: 'number', words: 'a number of calls', min: 0, whole: false },
    send: any,
    sendTo: any,
    writeOut: any,
    conversation: any,
    tools: any,
    sentAnyway: { kind: 'switch' },
    archive: { kind: 'text', oneOf: ['before', 'meanwhile'] },
  },
}

export const RECORD: GivenShape = {
  kind: 'object',
  required: ['turn'],
  fields: {
    turn: text,
    format: text,
    response: any,
    answer: any,
    usage: any,
    refused: { kind: 'switch' },
    durable: { kind: 'text', oneOf: ['flushed', 'soon'] },
  },
}
