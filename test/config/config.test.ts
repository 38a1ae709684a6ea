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
  windowOf,
} from '../../src/settings/index.ts'
import { policies } from '../../src/engine/presets/index.ts'
import { createPlimsoll } from '../../src/plimsoll.ts'
import { proxyConfig } from '../../src/settings/apply.ts'

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

  describe('in the words of ai-agent', () => {
    const limitOn = async (text: string, model: string, body: object = {}, target: object = {}) => {
      const { config, problems } = check(text)
      expect(problems).toEqual([])
      const plimsoll = createPlimsoll({ ...optionsOf(config, {}), store: 'memory:', artifacts: 'memory:' })
      const { limit } = await plimsoll.session({ id: 's' }).prepare({
        format: 'openai-chat',
        body: { model, messages: [{ role: 'user', content: 'hi' }], ...body },
        targets: [{ model, ...target }],
      })
      return [limit.window, limit.buffer, limit.outputReserve, limit.tokens]
    }

    it('gives the document’s own numbers for the document’s own example', async () => {
      expect(await limitOn(AI_AGENT, 'gpt-4-turbo')).toEqual([128_000, 8_192, 16_384, 103_424])
    })

    it.each([
      ['the model before the provider', 'contextWindow: 64000', 'contextWindow: 32000', [32_000, 4_000, 8_000, 20_000]],
      [
        'the provider before the fallback',
        'contextWindow: 64000',
        'maxOutputTokens: 1000',
        [64_000, 8_000, 1_000, 55_000],
      ],
      [
        'a buffer of the model',
        'contextWindowBufferTokens: 99',
        'contextWindowBufferTokens: 100',
        [131_072, 100, 32_768, 98_204],
      ],
      [
        'a buffer of the provider',
        'contextWindowBufferTokens: 99',
        'maxOutputTokens: 1000',
        [131_072, 99, 1_000, 129_973],
      ],
      ['neither: 131,072, 8,192 and a quarter', '', 'tokenizer: approximate', [131_072, 8_192, 32_768, 90_112]],
    ])('%s', async (_, provider, model, want) => {
      const text = `policy: ai-agent\nproviders:\n  p:\n${provider === '' ? '' : `    ${provider}\n`}    models:\n      nobody-knows:\n        ${model}\n`
      expect(await limitOn(text, 'nobody-knows')).toEqual(want)
    })

    it('takes the defaults where nothing is nearer', async () => {
      const text = 'defaults:\n  contextWindow: 50000\n  contextWindowBufferTokens: 256\n  maxOutputTokens: 2000\n'
      expect(await limitOn(text, 'nobody-knows')).toEqual([50_000, 256, 2_000, 47_744])
      expect(await limitOn(text, 'nobody-knows', { max_tokens: 500 })).toEqual([50_000, 256, 500, 49_244])
      expect(await limitOn(text, 'nobody-knows', {}, { window: 20_000 })).toEqual([20_000, 256, 2_000, 17_744])
    })

    it('tells providers apart where there are several', async () => {
      const text = 'policy: ai-agent\nproviders:\n  a: { contextWindow: 40000 }\n  b: { contextWindow: 80000 }\n'
      expect((await limitOn(text, 'nobody-knows', {}, { provider: 'a' }))[0]).toBe(40_000)
      expect((await limitOn(text, 'nobody-knows', {}, { provider: 'b' }))[0]).toBe(80_000)
      expect((await limitOn(text, 'nobody-knows'))[0]).toBe(131_072)
    })

    it.each([
      ['its own', 'p', [100_000, 5_000]],
      ['none, where the file has one', undefined, [100_000, 5_000]],
      ['another one', 'q', [131_072, 700]],
    ])('gives a provider’s numbers to a target of %s', async (_, provider, want) => {
      const text =
        'providers:\n  p: { contextWindow: 100000, contextWindowBufferTokens: 5000 }\ndefaults:\n  contextWindowBufferTokens: 700\n'
      const target = provider === undefined ? {} : { provider }
      expect((await limitOn(text, 'nobody-knows', {}, target)).slice(0, 2)).toEqual(want)
    })

    it('keeps the tokenizers of one model apart by provider, and takes one for all', () => {
      const models = (id: string) =>
        `    models:\n      m: { tokenizer: "${id}" }\n      n${id}: { tokenizer: "${id}" }\n`
      const text = `providers:\n  a:\n${models('anthropic')}  b:\n${models('gemini')}defaults:\n  tokenizer: approximate\n`
      expect(policyOf(check(text).config, 'main', {}).estimator?.tokenizers).toEqual({
        '*': 'approximate',
        'a/m': 'anthropic',
        'b/m': 'gemini',
        nanthropic: 'anthropic',
        ngemini: 'gemini',
      })
    })

    it.each([
      ['contextWindow: 50000', 'under defaults, a provider or a model'],
      ['contextWindowBufferTokens: 500', 'under defaults, a provider or a model'],
      ['maxOutputTokens: 4096', 'under defaults, or under a model of a provider'],
      ['tokenizer: gemini', 'under defaults, or under a model of a provider'],
      ['toolResponseMaxBytes: 100', 'under defaults'],
      ['toolsAllowed: [a]', 'under defaults'],
      ['toolsDenied: [a]', 'under defaults'],
      ['reasoning: high', 'reasoning_effort, thinking or thinkingConfig'],
      ['providers: { p: { maxOutputTokens: 4096 } }', 'under defaults, or under a model of a provider'],
      ['providers: { p: { models: { m: { reasoning: high } } } }', 'reasoning_effort, thinking or thinkingConfig'],
      ['defaults: { reasoning: high }', 'reasoning_effort, thinking or thinkingConfig'],
    ])('says where %s belongs', (text, where) => {
      const problems = check(`${text}\n`).problems.map(problemLine)
      expect(problems).toHaveLength(1)
      expect(problems[0]).toContain(where)
    })

    it('turns the other keys into its policy', () => {
      const text = `policy: ai-agent\ndefaults:\n  toolResponseMaxBytes: 4KiB\n  toolsDenied: [bash]\n${TOKENIZER}`
      const policy = policyOf(check(text).config, 'main', {})
      expect(policy.intake.guard).toEqual({ bytes: 4_096 })
      expect(policy.estimator?.tokenizers).toEqual({ 'gpt-4': 'tiktoken:cl100k_base' })
      expect(policy.tools).toEqual({ deny: ['bash'] })
    })

    it('refuses what another policy would not read, and what is the request’s to say', () => {
      const stray = check(`policy: autosre\ndefaults:\n  toolResponseMaxBytes: 4KiB\n${TOKENIZER}`).problems
      expect(stray.map(problemLine)).toEqual([
        'plimsoll.yaml:3: defaults.toolResponseMaxBytes is used by the policy "ai-agent" only, and the policy of this file is "autosre". Remove the key or change the policy.',
        'plimsoll.yaml:8: providers.openai.models.gpt-4.tokenizer is used by the policy "ai-agent" only, and the policy of this file is "autosre". Remove the key or change the policy.',
      ])
      const reasoning = check('providers:\n  p:\n    models:\n      m: { reasoning: high }\n').problems
      expect(reasoning).toEqual([expect.objectContaining({ path: 'providers.p.models.m.reasoning' })])
    })
  })

  it.each([
    ['a wrong key', 'policy: autosre\nwindw: 5\n', 2, 'windw', 'window'],
    ['a wrong key deep inside', 'override:\n  water:\n    hihg: 0.5\n', 3, 'override.water.hihg', 'high'],
    ['a wrong policy', 'policy: auto-sre\n', 1, 'policy', 'autosre'],
    ['a wrong policy of an agent', 'agents:\n  a:\n    policy: adkcode\n', 3, 'agents.a.policy', 'adk-code'],
    [
      'a wrong value of a list of choices',
      'override:\n  summaries:\n    via: in-bond\n',
      3,
      'override.summaries.via',
      'in-band',
    ],
  ])('names file, line and the nearest valid word for %s', (_, text, line, path, near) => {
    const { problems } = check(text)
    expect(problems).toEqual([expect.objectContaining({ file: 'plimsoll.yaml', line, path, nearest: near })])
    expect(problemLine(problems[0]!)).toMatch(new RegExp(`^plimsoll.yaml:${line}: .*Did you mean "${near}"`))
  })

  it.each([
    ['a type', 'policy: autosre\noverride: 5\n', 2, 'override must be a group of keys, not 5.'],
    [
      'a range',
      'override:\n  water:\n    high: 1.5\n',
      3,
      'override.water.high must be a share like 0.65 or 65%, between 0 and 1, not 1.5.',
    ],
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
    expect((await checkConfig(module)).problems).toEqual([
      expect.objectContaining({ line: undefined, nearest: 'high' }),
    ])
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
    const { design, ...numbers } = policyOf({ policy: name }, 'main', env)
    const { design: own, ...documented } = policies.get(name)!
    expect(numbers).toMatchObject(documented)
    expect(Object.keys(design ?? {})).toEqual(Object.keys(own ?? {}))
  })

  it.each([
    ['override:\n  steps:\n    native: { compactAt: 60% }\n', 3, 'Use override.native with the same keys.'],
    ['policies:\n  mine:\n    override:\n      steps: { offload: { minTokens: 5 } }\n', 4, 'remove the key'],
    ['override:\n  water: { cacheRelax: 20% }\n', 2, 'Set CYBER_PROMPT_CACHE_RELAX'],
    ['override:\n  steps:\n    squeeze: { tokens: 20k }\n', 3, 'squeeze-budget.tokens'],
  ])('says what to use in the place of a key that is gone: %j', (text, line, instead) => {
    expect(check(text).problems).toEqual([expect.objectContaining({ line, message: expect.stringContaining(instead) })])
  })

  it('switches the provider’s own compaction on', () => {
    const { config, problems } = check('override:\n  native: { compactAt: 60%, keepToolUses: 5 }\n')
    expect(problems).toEqual([])
    expect(policyOf(config, 'main', {}).native).toEqual({ compactAt: 0.6, keepToolUses: 5 })
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

describe('a summarizer in the file', () => {
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
