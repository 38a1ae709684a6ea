import { describe, expect, it } from 'vitest'
import { checkLiveOptions, checkOptions } from '../../src/compose/named-policies.ts'
import { createPlimsoll, type PlimsollOptions } from '../../src/index.ts'
import { policies } from '../../src/engine/presets/index.ts'
import { optionsOf, policyOf, proxyConfig } from '../../src/settings/apply.ts'
import { checked } from '../../src/settings/check.ts'
import { fileSchema, GATEWAY, LIBRARY, optionsSchema, SETTINGS } from '../../src/settings/settings.ts'
import type { Schema } from '../../src/settings/values.ts'
import { parts, withoutOptional } from '../../src/util/json-schema.ts'

const OPTIONS = Object.keys({ ...LIBRARY, ...GATEWAY })
const LIVE = OPTIONS.filter((name) =>
  Object.entries({ ...LIBRARY, ...GATEWAY }).some(([own, { where }]) => own === name && 'live' in where),
)

/** A request that is compacted, and what leaves of it. */
async function sent(options: PlimsollOptions, change: object = {}): Promise<string> {
  const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:', window: 12_000, ...options })
  plimsoll.reconfigure({ window: 12_000, ...change })
  const text = 'The quick brown fox jumps over the lazy dog. '.repeat(60)
  const messages = Array.from({ length: 30 }, (_, at) => ({
    role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `${at}: ${text}`,
  }))
  messages.push({ role: 'user', content: 'Go on.' })
  const turn = await plimsoll
    .session({ id: 'run' })
    .prepare({ format: 'openai-chat', body: { model: 'gpt-4.1', messages } })
  await plimsoll.close()
  return turn.text
}

describe('an option that is undefined', () => {
  const secret = new Uint8Array(32)

  it.each(OPTIONS)('%s is one that is not given', (name) => {
    expect(checkOptions({ [name]: undefined })).toEqual({})
    expect(Object.keys(checkOptions({ memo: true, [name]: undefined }))).toEqual(name === 'memo' ? [] : ['memo'])
  })

  it.each(LIVE)('%s is one that is not given, while it runs', (name) => {
    expect(Object.keys(checkLiveOptions({ [name]: undefined }))).toEqual([])
  })

  it('changes no byte, whichever it is', async () => {
    const plain = await sent({ secret })
    const others = OPTIONS.filter((name) => !['store', 'artifacts', 'window', 'secret'].includes(name))
    const all = Object.fromEntries(others.map((name) => [name, undefined]))
    expect(
      await sent(
        { secret, ...all },
        Object.fromEntries(LIVE.filter((name) => name !== 'window').map((name) => [name, undefined])),
      ),
    ).toBe(plain)
    expect(plain).not.toContain('"content":"3: ')
  })
})

/** Every group of a schema, with the way to it. */
function groupsIn(
  schema: Schema,
  path: readonly string[] = [],
): readonly { path: readonly string[]; keys: readonly string[] }[] {
  const known = parts(withoutOptional(schema))
  if (known.type === 'record') return groupsIn(known.value as Schema, [...path, 'plimsoll'])
  if (known.type === 'union') return known.options.slice(-1).flatMap((one) => groupsIn(one as Schema, path))
  if (known.type !== 'object_with_rest') return []
  const own = { path, keys: Object.keys(known.entries) }
  return [own, ...own.keys.flatMap((key) => groupsIn(known.entries[key] as Schema, [...path, key]))]
}

const nested = (path: readonly string[], value: object): object =>
  path.reduceRight<object>((inner, key) => ({ [key]: inner }), value)

/** A policy's steps are functions, made anew each time: they count by their text. */
const asData = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, one: unknown) => (typeof one === 'function' ? String(one) : one)))

describe('a key of settings that is undefined', () => {
  const file = fileSchema(SETTINGS)
  const groups = groupsIn(file as Schema)

  it('is found in every group', () => {
    expect(groups.length).toBeGreaterThan(30)
  })

  it.each(groups)('is one that is not given: $path', ({ path, keys }) => {
    const nothing = Object.fromEntries(keys.map((key) => [key, undefined]))
    const { problems } = checked(file, nested(path, nothing), 'the file', 'text')
    expect(problems.filter(({ message }) => !/needs a /.test(message))).toEqual([])
  })

  it.each(groups.filter(({ path }) => path[0] === 'override'))('changes no policy: $path', ({ path, keys }) => {
    const undefinedKeys = nested(path, Object.fromEntries(keys.map((key) => [key, undefined])))
    for (const policy of policies.keys())
      expect(asData(policyOf({ policy, ...undefinedKeys }, 'main', {}))).toEqual(
        asData(policyOf({ policy, ...nested(path, {}) }, 'main', {})),
      )
  })

  it('is not among the options of a file', () => {
    const nothing = Object.fromEntries(Object.keys(SETTINGS).map((key) => [key, undefined]))
    expect(Object.keys(optionsOf(nothing, {}))).toEqual(['policy'])
    expect(proxyConfig(nothing, {})).toEqual({})
    expect(checked(optionsSchema(LIBRARY), nothing, 'the options').problems.map(({ path }) => path)).toEqual([])
  })
})
