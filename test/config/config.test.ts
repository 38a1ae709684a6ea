import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  checkConfig,
  checkConfigText,
  configJsonSchema,
  loadConfig,
  optionsOf,
  policyOf,
  problemLine,
  readConfig,
  targetOf,
  windowOf,
} from '../../src/config/index.ts'
import { policies } from '../../src/engine/presets/index.ts'
import { createPlimsoll } from '../../src/compose/plimsoll.ts'
import { proxyConfig } from '../../src/config/proxy.ts'

/** The example of the ai-agent document, as it stands. */
const AI_AGENT = `providers:
  openai:
    contextWindow: 128000
    models:
      gpt-4-turbo:
        maxOutputTokens: 16384
        contextWindow: 128000

defaults:
  toolResponseMaxBytes: 12288
  maxOutputTokens: 16384
`
const TOKENIZER = `providers:
  openai:
    models:
      gpt-4:
        tokenizer: "tiktoken:cl100k_base" # or "tiktoken:gpt-4"
`

const check = (text: string) => checkConfigText(text, 'plimsoll.yaml')

describe('a config file', () => {
  it.each([AI_AGENT, TOKENIZER, '', '{}', '{"policy": "autosre", "window": "200k"}'])('loads %j', (text) => {
    expect(check(text).problems).toEqual([])
  })

  it('resolves windows as ai-agent does: model, provider, defaults', () => {
    const { config } = check(AI_AGENT)
    expect(targetOf(config, 'openai', 'gpt-4-turbo')).toEqual({
      model: 'gpt-4-turbo',
      window: 128_000,
      maxOutputTokens: 16_384,
    })
    expect(targetOf(config, 'openai', 'other')).toEqual({ model: 'other', window: 128_000, maxOutputTokens: 16_384 })
    expect(targetOf(config, 'nobody', 'other')).toEqual({ model: 'other', maxOutputTokens: 16_384 })
  })

  it('turns ai-agent keys into its policy', () => {
    const text = `policy: ai-agent\ndefaults:\n  toolResponseMaxBytes: 4KiB\n  contextWindowBufferTokens: 256\n  toolsDenied: [bash]\n${TOKENIZER}`
    const policy = policyOf(check(text).config, 'main', {})
    expect(policy.intake.guard).toMatchObject({ design: 'ai-agent', bytes: 4_096 })
    expect(policy.buffer).toEqual({ fraction: 0, min: 256, max: 256 })
    expect(policy.estimator?.tokenizers).toEqual(['tiktoken:cl100k_base'])
    expect(policy.tools).toEqual({ deny: ['bash'] })
  })

  it.each([
    ['a wrong key', 'policy: autosre\nwindw: 5\n', 2, 'windw', 'window'],
    ['a wrong key deep inside', 'override:\n  water:\n    hihg: 0.5\n', 3, 'override.water.hihg', 'high'],
    ['a wrong policy', 'policy: auto-sre\n', 1, 'policy', 'autosre'],
    ['a wrong policy of an agent', 'agents:\n  a:\n    policy: adkcode\n', 3, 'agents.a.policy', 'adk-code'],
    [
      'a wrong value of a list of choices',
      'providers:\n  p:\n    models:\n      m:\n        reasoning: hihg\n',
      5,
      'providers.p.models.m.reasoning',
      'high',
    ],
  ])('names file, line and the nearest valid word for %s', (_, text, line, path, near) => {
    const { problems } = check(text)
    expect(problems).toEqual([expect.objectContaining({ file: 'plimsoll.yaml', line, path, nearest: near })])
    expect(problemLine(problems[0]!)).toMatch(new RegExp(`^plimsoll.yaml:${line}: .*Did you mean "${near}"`))
  })

  it.each([
    ['a type', 'policy: autosre\noverride: 5\n', 2, 'override must be a group of keys, not 5.'],
    ['a range', 'override:\n  water:\n    high: 1.5\n', 3, 'override.water.high must be between 0 and 1, not 1.5.'],
    ['a unit', 'window: 12KiB\n', 1, 'window must be tokens like 128000 or 128k, not "12KiB".'],
    [
      'a share with a wrong unit',
      'override:\n  water: { high: 65k }\n',
      2,
      'override.water.high must be a share like 0.65 or 65%, not "65k".',
    ],
    [
      'half a message',
      'override:\n  steps:\n    summarise:\n      tail: 2.5\n',
      4,
      'override.steps.summarise.tail must be a whole number, not 2.5.',
    ],
    ['a missing value', 'window:\n', 1, 'window must be tokens like 128000 or 128k, not nothing.'],
  ])('refuses %s', (_, text, line, message) => {
    expect(check(text).problems).toEqual([expect.objectContaining({ line, message })])
  })

  it('says where YAML itself is broken', () => {
    expect(check('policy: [a\nwindow: 5\n').problems[0]).toMatchObject({
      file: 'plimsoll.yaml',
      line: expect.any(Number),
    })
    expect(check('window: 5\nwindow: 6\n').problems[0]).toMatchObject({ line: 2 })
  })

  it('reads JSON with its lines, and modules', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'config-'))
    const json = join(dir, 'c.json')
    await writeFile(json, '{\n  "policy": "autosre",\n  "wndow": 5\n}\n')
    expect((await checkConfig(json)).problems).toEqual([expect.objectContaining({ line: 3, nearest: 'window' })])
    const module = join(dir, 'c.mjs')
    await writeFile(module, "export default {\n  policy: 'adk-code',\n  override: { water: { hgh: 0.5 } },\n}\n")
    expect((await checkConfig(module)).problems).toEqual([expect.objectContaining({ line: 3, nearest: 'high' })])
    await expect(loadConfig(json)).rejects.toMatchObject({
      code: 'bad-config',
      message: expect.stringContaining('c.json:3'),
    })
    expect((await checkConfig(join(dir, 'none.yaml'))).problems[0]!.message).toContain('cannot be read')
  })

  it('overrides any number, per policy, per file and per agent; the last one wins', () => {
    const { config, problems } = check(`
policy: mine
window: 200k
policies:
  mine:
    extends: contextguard
    override: { water: { rest: 10% }, steps: { squeeze: { floorTokens: 80 } } }
override: { passes: 5 }
agents:
  reviewer: { policy: adk-code, window: 64k, override: { water: { high: 60% } } }
`)
    expect(problems).toEqual([])
    const main = policyOf(config, 'main', {})
    expect(main).toMatchObject({ name: 'mine', passes: 5, water: { rest: 0.1 } })
    expect(main.cascade).toContainEqual(expect.objectContaining({ step: 'squeeze', floorTokens: 80 }))
    expect(policyOf(config, 'reviewer', {})).toMatchObject({
      name: 'adk-code',
      passes: 5,
      water: { high: 0.6, low: 0.1 },
    })
    expect([windowOf(config), windowOf(config, 'reviewer')]).toEqual([200_000, 64_000])
  })

  it('gives agents of one session their own policy and window', async () => {
    const { config } = check('policy: contextguard\nagents:\n  small: { policy: adk-code, window: 32k }\n')
    const plimsoll = createPlimsoll({ ...optionsOf(config, {}), store: 'memory:', artifacts: 'memory:' })
    const body = { contents: [{ role: 'user', parts: [{ text: 'Hi.' }] }] }
    const limitOf = async (agent: string) =>
      (
        await plimsoll
          .session({ id: 's', agent })
          .prepare({ format: 'gemini', body, targets: [{ model: 'gemini-2.5-pro' }] })
      ).limit
    expect(await limitOf('small')).toMatchObject({ window: 32_000, tokens: 28_800 })
    expect((await limitOf('main')).window).toBeGreaterThan(1_000_000)
    await plimsoll.close()
  })

  it('sets what tools may take, together and one by one, and how many stored outputs stay', () => {
    const { config, problems } = check(`
override:
  budget: { turnShare: 40%, tools: { bash: { turnTokens: 4k, sessionTokens: 50k } } }
  retention: { keep: 20 }
agents:
  scout: { override: { budget: { tools: { web: { turnTokens: 2k } } } } }
`)
    expect(problems).toEqual([])
    const bash = { turnTokens: 4_000, sessionTokens: 50_000 }
    expect(policyOf(config, 'main', {})).toMatchObject({
      intake: { maxShare: 0.25, budget: { turnShare: 0.4, tools: { bash } } },
      retention: { keep: 20, cleanAt: 20 },
    })
    expect(policyOf(config, 'scout', {}).intake.budget?.tools).toEqual({ bash, web: { turnTokens: 2_000 } })
    expect(check('override:\n  budget:\n    turnShar: 0.5\n').problems).toMatchObject([
      { nearest: 'turnShare', line: 3 },
    ])
  })

  it.each([...policies.keys()])('gives %s back as it is without overrides', (name) => {
    const env = {}
    expect(policyOf({ policy: name }, 'main', env)).toMatchObject({ ...policies.get(name) })
  })

  it('has a JSON Schema with every key', () => {
    const schema = configJsonSchema() as { properties: Record<string, { properties?: object }> }
    expect(Object.keys(schema.properties)).toContain('override')
    expect(schema.properties['override']!.properties).toHaveProperty('water')
    expect(JSON.stringify(schema)).not.toContain('undefined')
  })
})

describe('the proxy’s file', () => {
  it('is the same file, with its own keys and those of policies', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'proxy-config-'))
    const file = join(dir, 'plimsoll.yaml')
    await writeFile(file, `port: 4141\nupstreams:\n  anthropic: https://api.anthropic.com\noverride: { passes: 2 }\n`)
    expect(proxyConfig(readConfig(file))).toEqual({
      port: 4141,
      upstreams: { anthropic: [{ url: 'https://api.anthropic.com' }] },
    })
    await writeFile(file, 'prot: 4141\n')
    expect(() => readConfig(file)).toThrow(/plimsoll\.yaml:1: There is no key "prot"\. Did you mean "port"\?/)
  })
})

describe('a summariser in the file', () => {
  it('gets its key from the environment, never from the file', () => {
    const { config } = check(
      'summarizer: { format: gemini, model: gemini-2.5-flash, apiKeyEnv: SUMMARY_KEY, window: 200k }',
    )
    expect(optionsOf(config, { SUMMARY_KEY: 'k' }).summarizer).toEqual({
      format: 'gemini',
      model: 'gemini-2.5-flash',
      apiKey: 'k',
      window: 200_000,
    })
    expect(() => optionsOf(config, {})).toThrow(/SUMMARY_KEY is not set/)
    expect(check('summarizer: { apiKey: secret }').problems.map(problemLine).join()).toContain('no key "apiKey"')
  })

  it('has its way and its calls in the policy', () => {
    const { config } = check('override: { summaries: { via: in-band, backgroundFrom: 80% } }')
    expect(policyOf(config, 'main', {}).summaries).toEqual({ via: 'in-band', calls: 2, backgroundFrom: 0.8 })
  })
})
