import { describe, expect, it } from 'vitest'
import { createPlimsoll, isPlimsollError } from '../../src/index.ts'
import * as aiSdk from '../../src/adapters/ai-sdk.ts'
import * as adk from '../../src/adapters/google-adk.ts'
import * as langchain from '../../src/adapters/langchain.ts'
import * as mastra from '../../src/adapters/mastra.ts'
import * as agents from '../../src/adapters/openai-agents.ts'
import * as opencode from '../../src/adapters/opencode.ts'
import * as pi from '../../src/adapters/pi.ts'
import * as strands from '../../src/adapters/strands.ts'
import { startMcpHttp } from '../../src/mcp/index.ts'

const plimsoll = createPlimsoll({ store: 'memory:' })
const session = plimsoll.session({ id: 'run' })
const provider = { getModel: () => ({}) }
/** Stands for a class of a framework: nothing is made of it here. */
const Part = function (): void {}
const parts = { FunctionTool: Part, Message: Part, ToolResultBlock: Part }

/** How each adapter is connected rightly, up to its options. */
const ADAPTERS: readonly [name: string, connect: unknown, right: readonly unknown[], needed?: object][] = [
  ['ai-sdk', aiSdk.plimsollMiddleware, [session]],
  ['ai-sdk tools', aiSdk.plimsollTools, [plimsoll, session, {}]],
  ['google-adk', adk.plimsollPlugin, [plimsoll, Part]],
  ['langchain', langchain.plimsollMiddleware, [plimsoll]],
  ['mastra', mastra.plimsollProcessor, [plimsoll]],
  ['openai-agents', agents.plimsollProvider, [plimsoll, provider], { session }],
  ['openai-agents tools', agents.plimsollTools, [plimsoll, session, []]],
  ['opencode', opencode.plimsollPlugin, [plimsoll]],
  ['pi', pi.plimsollExtension, [plimsoll]],
  ['strands', strands.plimsollPlugin, [plimsoll, parts]],
]

function said(connect: unknown, given: readonly unknown[]): string {
  try {
    ;(connect as (...all: unknown[]) => unknown)(...given)
  } catch (error) {
    if (!isPlimsollError(error, 'bad-input')) throw error
    return error.message
  }
  return 'It was taken.'
}

describe.each(ADAPTERS)('an adapter without types: %s', (_, connect, right, needed = {}) => {
  it('takes what is right', () => {
    expect(said(connect, [...right, needed])).toBe('It was taken.')
  })

  it('says that there is no such option', () => {
    expect(said(connect, [...right, { ...needed, shortenHistroy: true }])).toMatch(
      /There is no "shortenHistroy" in the options of plimsoll/,
    )
  })

  it('says what it needs', () => {
    expect(said(connect, [])).toMatch(/(?:plimsoll|session) of plimsoll\w+\(\) is missing/)
    expect(said(connect, ['local', ...right.slice(1), needed])).toMatch(
      /must be the result of (?:createPlimsoll|plimsoll\.session)\(/,
    )
  })
})

describe('windows of adapters', () => {
  it.each(ADAPTERS.filter(([name]) => name !== 'opencode'))('are numbers: %s', (_, connect, right, needed = {}) => {
    for (const window of ['64k', NaN, 0, Infinity])
      expect(said(connect, [...right, { ...needed, window }])).toMatch(/window must be a number of tokens like 128_000/)
  })
})

describe('the model for ADK without types', () => {
  it('says what it needs', () => {
    expect(said(adk.plimsollModel, ['gemini-2.5-pro'])).toMatch(/model of plimsollModel\(\) must be a model of ADK/)
  })
})

describe('the MCP server without types', () => {
  it.each<[object, RegExp]>([
    [{ port: '4143' }, /port must be a port, between 0 and 65535, not "4143"/],
    [{ sesion: 'run' }, /There is no "sesion"/],
    [{ scope: 'tenant' }, /scope must be 'credential' or a scope, not "tenant"/],
    [{ scope: { sesion: 'run' } }, /There is no "sesion" in scope\. Did you mean "session"/],
  ])('refuses %j', async (options, message) => {
    await expect(startMcpHttp(plimsoll, options)).rejects.toMatchObject({
      code: 'bad-input',
      message: expect.stringMatching(message) as string,
    })
  })
})
