import { describe, expect, it } from 'vitest'
import { policies } from '../../src/engine/presets/index.ts'
import { createPlimsoll, isPlimsollError, type PlimsollOptions } from '../../src/index.ts'

/** What a caller without TypeScript may hand over. */
const open = (options: object) => createPlimsoll({ store: 'memory:', ...options } as PlimsollOptions)

function refused(run: () => unknown, code: 'bad-config' | 'bad-input'): string {
  try {
    run()
  } catch (error) {
    if (!isPlimsollError(error, code)) throw error
    return error.message
  }
  throw new Error('It was taken.')
}

async function refusedLater(run: () => Promise<unknown>): Promise<string> {
  const error = await run().then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!isPlimsollError(error, 'bad-input')) throw new Error(`It was not refused as bad input: ${String(error)}`)
  return error.message
}

const { plimsoll: whole } = Object.fromEntries(policies)

describe('options that cannot be right', () => {
  it.each<[string, object, RegExp]>([
    ['an unknown key', { windwo: 64_000 }, /no "windwo".*Did you mean "window"/],
    ['a unit', { window: '64k' }, /window must be a number of tokens like 128_000, not "64k"/],
    ['NaN', { window: Number.NaN }, /window must be a number of tokens.*not NaN/],
    ['infinity', { window: Infinity }, /window must be a number of tokens.*not Infinity/],
    ['a window of thousands', { window: 0.128 }, /window must be.*at least 1, not 0\.128/],
    ['an agent’s window', { agents: { main: { window: '32k' } } }, /agents\.main\.window must be/],
    ['a policy that nobody knows', { policy: 'plimsol' }, /no policy "plimsol".*plimsoll/],
    ['a part of a policy', { policy: { water: { high: 0.8 } } }, /name of .* is missing.*start from a preset/],
    ['a part of its water', { policy: { ...whole, water: { high: 0.8 } } }, /water\.low of .* is missing/],
    [
      'a share in percent',
      { policy: { ...whole, water: { ...whole!.water, high: 80 } } },
      /water\.high.*0.* and 1, not 80/,
    ],
    [
      'NaN in a step',
      { policy: { ...whole, cascade: [{ step: 'fold', tailShare: Number.NaN }] } },
      /tailShare must be a number/,
    ],
    ['a step that nobody knows', { policy: { ...whole, cascade: [{ step: 'fould' }] } }, /must be one of fold/],
    ['a budget without a limit', { budgets: [{ name: 'b', scope: 'day', unit: 'usd' }] }, /hard of .* is missing/],
    [
      'a budget in euros',
      { budgets: [{ name: 'b', scope: 'day', unit: 'eur', hard: 5 }] },
      /unit must be one of tokens, usd/,
    ],
    ['a secret as text', { secret: 'hunter2' }, /secret must be bytes/],
    ['a store that is none', { store: {} }, /store must be a URL/],
    ['a fetch that is none', { fetch: 'https://…' }, /fetch must be a function/],
    ['a rule for tenants', { tenants: 'user' }, /tenants must be 'credential', 'one' or 'header:<name>'/],
    ['a model’s window', { models: { mine: { window: '1M' } } }, /models\.mine\.window must be/],
    ['body bytes', { maxBodyBytes: '64MB' }, /maxBodyBytes must be a number of bytes/],
  ])('are refused with what is allowed: %s', (_, options, message) => {
    expect(refused(() => open(options), 'bad-config')).toMatch(message)
  })

  it('are all named at once', () => {
    const message = refused(() => open({ window: '64k', tools: 'yes' }), 'bad-config')
    expect(message).toMatch(/window must be.*tools must be true or false/)
  })

  it('are refused while it runs as well', () => {
    const plimsoll = open({})
    // @ts-expect-error A window is a number.
    expect(refused(() => plimsoll.reconfigure({ window: '64k' }), 'bad-config')).toMatch(/window must be/)
  })

  it.each([...policies.keys()])('do not include the policy %s', (name) => {
    expect(() => open({ policy: policies.get(name)! })).not.toThrow()
  })
})

describe('requests that cannot be right', () => {
  const session = () => open({}).session({ id: 'run' })
  const body = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hi' }] }

  it('a session without an id', () => {
    // @ts-expect-error It needs one.
    expect(refused(() => open({}).session({ name: 'run' }), 'bad-input')).toMatch(/id of session\(\) is missing/)
  })

  it.each<[string, unknown, RegExp]>([
    ['an object', { rows: [] }, /output must be text or bytes.*JSON\.stringify.*not an object/],
    ['nothing', undefined, /output of toolResult\(\) is missing/],
    ['a number', 42, /output must be text or bytes.*not 42/],
  ])('a tool result that is %s', async (_, output, message) => {
    expect(await refusedLater(() => session().toolResult({ tool: 'bash', output: output as string }))).toMatch(message)
  })

  it.each<[string, object, RegExp]>([
    ['an unknown key', { format: 'openai-chat', body, target: [] }, /no "target".*"targets"/],
    ['a body that is a list', { format: 'openai-chat', body: [] }, /body must be the request's text or an object/],
    [
      'a window in words',
      { format: 'openai-chat', body, targets: [{ model: 'm', window: '8k' }] },
      /targets\[0\]\.window must be/,
    ],
    [
      'a target without a model',
      { format: 'openai-chat', body, targets: [{ window: 8_000 }] },
      /targets\[0\]\.model of .* is missing/,
    ],
  ])('a request with %s', async (_, request, message) => {
    expect(await refusedLater(() => session().prepare(request as { format: string; body: object }))).toMatch(message)
  })

  it('an API format that nobody knows', async () => {
    const error = await session()
      .prepare({ format: 'open-ai', body })
      .catch((reason: unknown) => reason)
    expect(isPlimsollError(error, 'unsupported') && error.message).toMatch(/Known formats: anthropic-messages/)
  })
})

describe('calls that cannot be right', () => {
  const BODY = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hi' }] }
  type Any = (...given: unknown[]) => unknown
  /** Everything that a program may call, without its types. */
  const face = () => {
    const plimsoll = open({})
    const session = plimsoll.session({ id: 'run' })
    const untyped = <T extends object>(of: T) => of as unknown as Record<keyof T, Any>
    return {
      plimsoll: untyped(plimsoll),
      session: untyped(session),
      artifacts: untyped(plimsoll.artifacts),
      archive: untyped(plimsoll.archive),
      limits: untyped(plimsoll.limits),
      ledger: untyped(plimsoll.ledger),
      tools: untyped(plimsoll.tools(session, 'openai-chat')),
      given: session,
    }
  }
  const recorded = async (what: object): Promise<unknown> => {
    const session = open({}).session({ id: 'run' })
    const { id } = await session.prepare({ format: 'openai-chat', body: BODY })
    return session.record({ turn: id, ...what })
  }

  it.each<[string, () => Promise<unknown>, RegExp]>([
    [
      'usage by its names at the provider',
      () => recorded({ usage: { prompt_tokens: 5, completion_tokens: 1 } }),
      /no "prompt_tokens" in usage\. It has input, output/,
    ],
    ['a response as text', () => recorded({ response: '{}' }), /response must be the body of the answer as an object/],
    ['a response that is not awaited', () => recorded({ response: Promise.resolve({}) }), /await it, and parse it/],
    ['a response that is not read', () => recorded({ response: new Response('{}') }), /await it, and parse it/],
    ['an answer that is none', () => recorded({ answer: { text: 'Hi' } }), /answer\.items of record\(\) is missing/],
    [
      'a status that is none',
      () => recorded({ refused: true, status: '429' }),
      /status must be an HTTP status like 429/,
    ],
    [
      'a body that goes in circles',
      () => {
        const body: Record<string, unknown> = { ...BODY }
        body['self'] = body
        return open({}).session({ id: 'run' }).prepare({ format: 'openai-chat', body })
      },
      /cannot be written as JSON.*Circles/,
    ],
    ['a query that is none', async () => face().session.recall({ query: 'x' }), /query of recall\(\) must be text/],
    ['a limit of hits', async () => face().session.recall('x', { limit: NaN }), /limit must be a number of items.*NaN/],
    ['an option of recall', async () => face().session.recall('x', { limti: 3 }), /no "limti".*Did you mean "limit"/],
    ['a wish as text', async () => face().session.compact('now'), /the options of compact\(\) must be an object/],
    ['a wish by another name', async () => face().session.compact({ instruction: 'x' }), /Did you mean "instructions"/],
    [
      'a pin that is none',
      async () => face().session.pin('x', 'no'),
      /pinned of pin\(\) must be true or false, not "no"/,
    ],
    ['a fork without a name', async () => face().session.fork(), /id of fork\(\) is missing/],
    ['a view of nothing', async () => face().session.standing(), /the request of standing\(\) is missing/],
    ['a handle that is none', async () => face().artifacts.read(5), /handle of read\(\) must be text, not 5/],
    [
      'a range of bytes',
      async () => face().artifacts.read('x', { range: { start: '0' } }),
      /range\.start must be a number/,
    ],
    [
      'a misspelt filter of learned limits, which would forget all of them',
      async () => face().limits.forget({ endpiont: 'http://localhost:11434' }),
      /no "endpiont" in the options of forget\(\)\. Did you mean "endpoint"/,
    ],
    ['a response that is text', async () => face().tools.answer('{}'), /response of answer\(\) must be the body/],
    ['a call without a name', async () => face().tools.call(), /name of call\(\) is missing/],
    ['a session without a name', async () => face().archive.has(), /session of has\(\) is missing/],
    [
      'an import of nothing',
      async () => face().plimsoll.importSession(5),
      /lines of importSession\(\) must be the lines/,
    ],
    [
      'a path for an address',
      async () => face().plimsoll.fetch('/v1/messages'),
      /needs an absolute URL, not "\/v1\/messages"/,
    ],
  ])('%s', async (_, run, message) => {
    expect(await refusedLater(run)).toMatch(message)
  })

  it.each<[string, () => unknown, RegExp]>([
    ['a session without a word', () => face().plimsoll.session({ id: ' ' }), /id must be a name, not " "/],
    [
      'tools of no session',
      () => face().plimsoll.tools('run', 'openai-chat'),
      /session of tools\(\) must be the result of plimsoll\.session/,
    ],
    [
      'tools for a window in words',
      () => {
        const { plimsoll, given } = face()
        return plimsoll.tools(given, 'openai-chat', { window: '64k' })
      },
      /window must be a number of tokens like 128_000, not "64k"/,
    ],
    ['a listener that is none', () => face().plimsoll.on(5), /listener of on\(\) must be a function/],
    [
      'a misspelt filter of the ledger, which would add up everything',
      () => face().ledger.totals({ sesion: 'run' }),
      /no "sesion" in the options of totals\(\)\. Did you mean "session"/,
    ],
    ['a split by nothing', () => face().ledger.split('model'), /by of split\(\) must be one of tenant, session/],
    ['a log of no session', () => face().archive.read(), /session of read\(\) is missing/],
  ])('%s', (_, run, message) => {
    expect(refused(run, 'bad-input')).toMatch(message)
  })

  it.each(['conversation', 'sendTo', 'writeOut', 'sentAnyway', 'archive'])(
    "the gateway's own %s in prepare(), which is no field of a caller",
    async (field) => {
      const request = { format: 'openai-chat', body: { model: 'm', messages: [] } }
      const given = open({})
        .session({ id: 'run' })
        .prepare({ ...request, [field]: () => undefined })
      await expect(given).rejects.toThrow(`There is no "${field}" in prepare().`)
    },
  )

  it('an answer in a format that nobody knows', async () => {
    await expect(recorded({ format: 'open-ai', response: {} })).rejects.toMatchObject({ code: 'unsupported' })
  })
})

describe('types that help', () => {
  it('give back the body that came in', async () => {
    const turn = await open({})
      .session({ id: 'run' })
      .prepare({
        format: 'openai-chat',
        body: { model: 'gpt-4.1', messages: [{ role: 'user' as const, content: 'Hi' }] },
      })
    const { messages }: { messages: { role: 'user'; content: string }[] } = turn.body
    expect(messages).toHaveLength(1)
    const asText = await open({}).session({ id: 'run' }).prepare({ format: 'openai-chat', body: turn.text })
    const text: string = asText.body
    expect(text).toBe(turn.text)
  })
})
