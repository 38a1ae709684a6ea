import { describe, expect, it } from 'vitest'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { plainUpstream } from '../gateway/upstream.ts'
import { createPlimsoll, type PlimsollOptions } from '../../src/plimsoll.ts'

const TOOL = 'list_log_entries'
const entries = (count: number, text = 'request failed') =>
  Array.from({ length: count }, (_, i) => ({ i, severity: i % 3 === 0 ? 'ERROR' : 'INFO', text: `${text} ${i}` }))

/** The same answer of a tool as each API format carries it. */
const WIRES = {
  gemini: (response: object) => ({
    contents: [
      { role: 'user', parts: [{ text: 'go' }] },
      { role: 'model', parts: [{ functionCall: { name: TOOL, args: {} } }] },
      { role: 'user', parts: [{ functionResponse: { name: TOOL, response } }] },
    ],
  }),
  'openai-chat': (response: object) => ({
    model: 'gpt-4.1',
    messages: [
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: TOOL, arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: JSON.stringify(response) },
    ],
  }),
  'openai-responses': (response: object) => ({
    model: 'gpt-4.1',
    input: [
      { role: 'user', content: 'go' },
      { type: 'function_call', call_id: 'c', name: TOOL, arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: JSON.stringify(response) },
    ],
  }),
  'anthropic-messages': (response: object) => ({
    model: 'claude-sonnet-4-5',
    max_tokens: 1000,
    messages: [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: TOOL, input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: JSON.stringify(response) }] },
    ],
  }),
  'ollama-chat': (response: object) => ({
    model: 'llama3.1',
    messages: [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: '', tool_calls: [{ function: { name: TOOL, arguments: {} } }] },
      { role: 'tool', tool_name: TOOL, content: JSON.stringify(response) },
    ],
  }),
} as const

const open = (env: Record<string, string> = {}, more: Partial<PlimsollOptions> = {}) =>
  createPlimsoll({ policy: policyNamed('autosre', env), store: 'memory:', artifacts: 'memory:', ...more })

interface Answer {
  readonly status?: string
  readonly error?: string
  readonly result: readonly unknown[] & string & { readonly preview: string }
}

/** What the model reads of the answer, wherever its format keeps it. */
async function sent(format: keyof typeof WIRES, response: object, env: Record<string, string> = {}): Promise<Answer> {
  const plimsoll = open(env)
  const turn = await plimsoll.session({ id: 's' }).prepare({
    format,
    body: WIRES[format](response),
    targets: [{ model: format === 'gemini' ? 'gemini-2.5-pro' : 'gpt-4.1', window: 1_000_000 }],
  })
  await plimsoll.close()
  return answerIn(JSON.parse(turn.text))
}

/** The innermost answer of a request: its last object with a status or a result, or a text that is one. */
function answerIn(value: unknown): Answer {
  const found: Answer[] = []
  const look = (one: unknown): void => {
    if (typeof one === 'string' && one.startsWith('{"')) look(JSON.parse(one))
    else if (typeof one === 'object' && one !== null && 'result' in one) found.push(one as Answer)
    else if (typeof one === 'object' && one !== null) Object.values(one).forEach(look)
  }
  look(value)
  return found.at(-1)!
}

const shown = async (response: object, env: Record<string, string> = {}, tool = TOOL) => {
  const plimsoll = open(env)
  const one = await plimsoll
    .session({ id: 's' })
    .toolResult({ tool, callId: 'c', output: JSON.stringify(response), model: 'gemini-2.5-pro' })
  await plimsoll.close()
  return { ...one, value: JSON.parse(one.text) as Answer }
}

describe('the answer of an ADK tool: an object with the data in `result`', () => {
  const formats = Object.keys(WIRES) as (keyof typeof WIRES)[]

  it.each(formats)('%s: counts the items of the list inside', async (format) => {
    const answer = { status: 'success', result: entries(51), metadata: { page: 3 } }
    const response = await sent(format, answer)
    expect(response).toMatchObject({
      status: 'success',
      result: { large_payload_handled: true, handling_mode: 'template_sandbox', total_entries: 51 },
      metadata: { page: 3, original_items: 51, original_chars: JSON.stringify(entries(51)).length },
    })
    expect(await sent(format, { status: 'success', result: entries(50) })).toEqual({
      status: 'success',
      result: entries(50),
    })
  })

  it.each(formats)('%s: caps the list inside at 500 and says how many went', async (format) => {
    const off = { SRE_AGENT_LARGE_PAYLOAD_ENABLED: 'false' }
    const response = await sent(format, { status: 'success', result: entries(501) }, off)
    expect(response).toMatchObject({ status: 'success', metadata: { truncated_count: 1 } })
    expect(response.result).toEqual(entries(500))
    expect((await sent(format, { status: 'success', result: entries(500) }, off)).result).toHaveLength(500)
  })

  it.each([
    ['result', { result: entries(51) }, true],
    ['result beside a status', { status: 'success', result: entries(51) }, true],
    ['output, as Gemini names it', { output: entries(51) }, true],
    ['output beside other fields is a field', { output: entries(51), more: 1 }, false],
    ['an object of one key', { result: { entries: entries(51) } }, false],
    ['an object of 51 keys', { result: Object.fromEntries(entries(51).map((one) => [`k${one.i}`, one])) }, true],
    ['no result', { status: 'error', result: null, error: entries(20) }, false],
  ])('toolResult: %s', async (_, answer, isHandled) => {
    const { value, report, truncated } = await shown(answer)
    expect(truncated).toBe(isHandled)
    expect(report.handling_mode === 'template_sandbox').toBe(isHandled)
    if (isHandled) expect(report.original_items).toBe(51)
    else expect(value).toEqual(answer)
  })

  it.each([
    ['100,000 characters of JSON', 99_998, false],
    ['one more', 99_999, true],
  ])('characters count inside as well: %s', async (_, length, isHandled) => {
    const { report } = await shown({ status: 'success', result: 'x'.repeat(length) }, {}, 'unknown')
    expect(report.large_payload_handled).toBe(isHandled)
  })

  it.each([
    [200_000, false],
    [200_001, true],
    [300_000, true],
  ])('a string of %i characters is cut: %s', async (length, isCut) => {
    const off = { SRE_AGENT_LARGE_PAYLOAD_ENABLED: 'false' }
    const { value, truncated } = await shown({ status: 'success', result: 'y'.repeat(length) }, off)
    expect(truncated).toBe(isCut)
    expect(value.result.startsWith('y'.repeat(200_000))).toBe(true)
    expect(value.result.includes('[TRUNCATED BY SRE AGENT SAFETY GUARD]')).toBe(isCut)
    expect(value.status).toBe('success')
  })

  it('an object above 200,000 characters becomes an error with a preview, and what stands beside it stays', async () => {
    const off = { SRE_AGENT_LARGE_PAYLOAD_ENABLED: 'false' }
    const { value } = await shown({ status: 'success', result: { a: 'z'.repeat(201_000) }, trace: 't1' }, off)
    expect(value).toMatchObject({ status: 'success', trace: 't1', result: { error: 'Result too large' } })
    expect(value.result.preview.length).toBeLessThanOrEqual(100_003)
  })

  it('gives way as a whole where the bulk stands beside the result', async () => {
    const off = { SRE_AGENT_LARGE_PAYLOAD_ENABLED: 'false' }
    const { text, value } = await shown({ result: 'ok', logs: 'z'.repeat(300_000) }, off)
    expect(value.error).toBe('Result too large')
    expect(text.length).toBeLessThan(101_000)
  })
})

describe('the code that its prompt asks for', () => {
  const NAME = 'execute_custom_analysis_in_sandbox'
  const policy = withoutSandbox()
  const list = entries(300, 'x'.repeat(60))
  const declare = (name: string, properties = {}) => ({
    type: 'function',
    function: { name, description: name, parameters: { type: 'object', properties } },
  })

  function withoutSandbox() {
    const own = policyNamed('autosre', {})
    return { ...own, intake: { ...own.intake, guard: { ...own.intake.guard, sandbox: false } } }
  }

  /** Sends a history with a large list at its end; the upstream calls the tool that the prompt names, once, with the handle in view. */
  async function asked(
    steps: number,
    tools = [declare(TOOL)],
    instructions = 100,
    under: ReturnType<typeof policyNamed> = policy,
  ) {
    const upstream = await plainUpstream(({ body }, response) => {
      const { messages } = JSON.parse(body.toString()) as { messages: { role: string; content: string }[] }
      const last = messages.at(-1)!.content
      const [, named] = /Call (\w+) with this handle and JavaScript/.exec(last) ?? []
      const [handle] = /art_[a-z0-9]+/.exec(last) ?? []
      const code = 'artifacts[0].data.filter((one) => one.severity === "ERROR").length'
      const message =
        named === undefined
          ? { role: 'assistant', content: `answer: ${last}` }
          : {
              role: 'assistant',
              content: null,
              tool_calls: [
                {
                  id: 'run',
                  type: 'function',
                  function: { name: named, arguments: JSON.stringify({ handle, code }) },
                },
              ],
            }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ id: 'x', model: 'gpt-4.1', choices: [{ index: 0, message }] }))
    })
    const plimsoll = open({}, { policy: under })
    const messages: object[] = [
      { role: 'system', content: 'Look into it. '.repeat(instructions / 14) },
      { role: 'user', content: 'count errors' },
    ]
    const send = async () => {
      const response = await plimsoll.fetch(`${upstream.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer k', 'x-plimsoll-session': 's' },
        body: JSON.stringify({ model: 'gpt-4.1', tools, messages }),
      })
      return ((await response.json()) as { choices: { message: { content: string } }[] }).choices[0]!.message.content
    }
    const step = (id: string, content: string) => {
      const tool_calls = [{ id, type: 'function', function: { name: TOOL, arguments: '{}' } }]
      messages.push({ role: 'assistant', content: null, tool_calls }, { role: 'tool', tool_call_id: id, content })
    }
    for (let i = 0; i < steps; i++) {
      step(`s${i}`, `step ${i} ${'line of a log '.repeat(200)}`)
      if (i % 10 === 9) await send()
    }
    step('large', JSON.stringify(list))
    const answer = await send()
    await plimsoll.close()
    const last = JSON.parse(upstream.received.at(-1)!.body.toString()) as {
      tools: { function: { name: string } }[]
    }
    return { answer, declared: last.tools.map((tool) => tool.function.name) }
  }

  it.each([
    ['at once', 0, 100],
    ['under long instructions', 0, 20_000],
    ['after 40 steps', 40, 20_000],
  ])('%s: is run by the tool that it names', async (_, steps, instructions) => {
    const { answer, declared } = await asked(steps, undefined, instructions)
    expect(declared).toContain(NAME)
    expect(declared).not.toContain('artifact_run')
    expect(answer).toMatch(/^answer: 100\n/)
  })

  it('is not asked for where the agent has a tool of that name, which knows no handles', async () => {
    const { answer, declared } = await asked(0, [declare(TOOL), declare(NAME, { data: {}, analysis_code: {} })])
    expect(declared.filter((name) => name === NAME)).toHaveLength(1)
    expect(answer).not.toContain(`Call ${NAME}`)
    expect(answer).toMatch(/"instructions":"This is a sample\. The full data is stored as art_/)
  })

  it('is not declared where nothing asks for it', async () => {
    const { declared } = await asked(0, undefined, 100, policyNamed('autosre', {}))
    expect(declared).not.toContain(NAME)
  })
})
