import { describe, expect, it } from 'vitest'
import { memoryArtifacts } from '../../src/drivers/artifacts/memory.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import type { EngineDeps } from '../../src/engine/deps.ts'
import { redactingDeps } from '../../src/engine/redaction/borders.ts'
import fc from 'fast-check'
import { TOKEN_FORMATS } from '../../src/engine/redaction/formats.ts'
import { createRedactor } from '../../src/engine/redaction/redactor.ts'
import { createSession } from '../../src/engine/session/session.ts'
import { summaryDesign } from '../support/summary-design.ts'
import { testEngine } from '../support/engine.ts'
import { property, SEED } from '../support/property.ts'

const redact = createRedactor({ environment: false })

/** Tokens are made here, so that no scanner takes this file for a leak. */
function maker(seed: number) {
  let state = seed
  const pick = (alphabet: string): string => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return alphabet[Math.floor((state / 2 ** 32) * alphabet.length)]!
  }
  const many = (alphabet: string, length: number): string => Array.from({ length }, () => pick(alphabet)).join('')
  return {
    word: (length: number) => many('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', length),
    upper: (length: number) => many('ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789', length),
    hex: (length: number) => many('0123456789abcdef', length),
    digits: (length: number) => many('123456789', length),
  }
}

const { word, upper, hex, digits } = maker(SEED)
const TOKENS: Readonly<Record<string, string>> = {
  'aws-access-key': `AKIA${upper(16)}`,
  'github-token': `ghp_${word(36)}`,
  'github-fine-grained-token': `github_pat_${word(22)}_${word(59)}`,
  'gitlab-token': `glpat-${word(20)}`,
  'slack-token': `xoxb-${digits(12)}-${digits(12)}-${word(24)}`,
  'slack-app-token': `xapp-1-${upper(11)}-${digits(13)}-${hex(64)}`,
  'slack-webhook': `https://hooks.slack.com/services/T${upper(8)}/B${upper(8)}/${word(24)}`,
  'discord-webhook': `https://discord.com/api/webhooks/${digits(18)}/${word(68)}`,
  'discord-bot-token': `M${word(25)}.${word(6)}.${word(38)}`,
  'anthropic-key': `sk-ant-api03-${word(93)}AA`,
  'openrouter-key': `sk-or-v1-${hex(64)}`,
  'openai-key': `sk-proj-${word(48)}`,
  'google-api-key': `AIza${word(35)}`,
  'google-oauth-token': `ya29.${word(120)}`,
  'google-client-secret': `GOCSPX-${word(28)}`,
  'stripe-key': `sk_live_${word(24)}`,
  'webhook-secret': `whsec_${word(32)}`,
  'twilio-key': `SK${hex(32)}`,
  'sendgrid-key': `SG.${word(22)}.${word(43)}`,
  'mailgun-key': `key-${hex(32)}`,
  'mailchimp-key': `${hex(32)}-us12`,
  'npm-token': `npm_${word(36)}`,
  'pypi-token': `pypi-AgEIcHlwaS5vcmc${word(70)}`,
  'rubygems-key': `rubygems_${hex(48)}`,
  'crates-token': `cio${word(32)}`,
  'docker-token': `dckr_pat_${word(27)}`,
  'hugging-face-token': `hf_${word(34)}`,
  'replicate-token': `r8_${word(37)}`,
  'groq-key': `gsk_${word(52)}`,
  'perplexity-key': `pplx-${word(48)}`,
  'xai-key': `xai-${word(80)}`,
  'digitalocean-token': `dop_v1_${hex(64)}`,
  'heroku-key': `HRKU-${hex(8)}-${hex(4)}-${hex(4)}-${hex(4)}-${hex(12)}`,
  'shopify-token': `shpat_${hex(32)}`,
  'square-token': `sq0atp-${word(22)}`,
  'telegram-bot-token': `${digits(10)}:AA${word(33)}`,
  'atlassian-token': `ATATT3${word(180)}=${upper(2).replace(/[G-Z]/g, 'A')}ABCDEF`,
  'linear-key': `lin_api_${word(40)}`,
  'notion-token': `ntn_${word(46)}`,
  'airtable-token': `pat${word(14)}.${hex(64)}`,
  'figma-token': `figd_${word(43)}`,
  'databricks-token': `dapi${hex(32)}`,
  'vault-token': `hvs.${word(90)}`,
  'terraform-token': `${word(14)}.atlasv1.${word(67)}`,
  'grafana-token': `glsa_${word(32)}_${hex(8)}`,
  'newrelic-key': `NRAK-${upper(27)}`,
  'sentry-token': `sntrys_${word(100)}`,
  'postman-key': `PMAK-${hex(24)}-${hex(34)}`,
  'planetscale-token': `pscale_tkn_${word(43)}`,
  'supabase-token': `sbp_${hex(40)}`,
  'doppler-token': `dp.pt.${word(43)}`,
  'pulumi-token': `pul-${hex(40)}`,
  'langsmith-key': `lsv2_pt_${hex(32)}_${hex(10)}`,
  'netlify-token': `nfp_${word(36)}`,
  'fly-token': `fm2_${word(120)}`,
  'onepassword-token': `ops_eyJ${word(200)}`,
  'alibaba-key': `LTAI${word(20)}`,
  'cloudflare-origin-key': `v1.0-${hex(24)}-${hex(146)}`,
  'private-key': `LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVkt${word(200)}`,
  'password-hash': `$6$${word(16)}$${word(86)}`,
  'age-key': `AGE-SECRET-KEY-1${upper(58)}`,
  jwt: `eyJ${word(33)}.eyJ${word(80)}.${word(43)}`,
}

const PEM = `-----BEGIN RSA PRIVATE KEY-----\n${[word(64), word(64), word(40)].join('\n')}\n-----END RSA PRIVATE KEY-----`

/** The places in which a token turns up. */
const PLACES: readonly [name: string, put: (token: string) => string, label: string][] = [
  ['text', (token) => `the key is ${token}, keep it safe`, 'the key is '],
  ['an environment dump', (token) => `HOME=/root\nSERVICE_KEY=${token}\nTERM=xterm`, 'SERVICE_KEY='],
  ['JSON', (token) => JSON.stringify({ service: { apiKey: token }, port: 80 }), '"apiKey":"'],
  ['JSON inside JSON', (token) => JSON.stringify({ output: JSON.stringify({ key: token }) }), 'key'],
  ['a URL', (token) => `curl 'https://api.example.com/v1/items?api_key=${token}&page=2'`, 'api_key='],
  ['a header', (token) => `GET / HTTP/1.1\nAuthorization: Bearer ${token}\nAccept: */*`, 'Authorization: Bearer '],
]

describe('tokens of known form', () => {
  it('has a sample for each of at least forty forms', () => {
    expect(Object.keys(TOKENS).sort()).toEqual(TOKEN_FORMATS.map(({ name }) => name).sort())
    expect(TOKEN_FORMATS.length).toBeGreaterThanOrEqual(40)
  })

  it.each(PLACES)('leave %s, and the label stays', (_, put, label) => {
    for (const [name, token] of Object.entries(TOKENS)) {
      const clean = redact(put(token))
      expect(clean.includes(token), `${name}: ${clean}`).toBe(false)
      expect(clean).toContain('[redacted:')
      expect(clean).toContain(label)
      expect(redact(clean)).toBe(clean)
    }
  })

  it('stay valid JSON around them', () => {
    for (const token of Object.values(TOKENS)) {
      const clean = redact(JSON.stringify({ apiKey: token, list: [token, 1], nested: JSON.stringify({ token }) }))
      expect(() => JSON.parse(clean) as unknown).not.toThrow()
    }
  })
})

describe('private keys', () => {
  it.each([
    ['as a file', PEM],
    ['in JSON', JSON.stringify({ key: PEM })],
    ['cut off', PEM.slice(0, 150)],
  ])('leave %s, with their header kept', (_, text) => {
    const clean = redact(text)
    expect(clean).toContain('-----BEGIN RSA PRIVATE KEY-----')
    for (const line of PEM.split('\n').slice(1, -1)) expect(clean).not.toContain(line.slice(0, 30))
    expect(redact(clean)).toBe(clean)
  })
})

describe('secrets known by value', () => {
  const environment = {
    DB_PASSWORD: 'p@ss "word" 1/2',
    DATABASE_URL: 'postgres://app:s3cr3t-of-db@db.internal/app',
    MY_TOKEN: 'plainlookingvalue77',
    HOME: '/home/someone',
    PWD: '/home/someone/project',
    KEY_FILE: '/etc/keys/private.pem',
    AUTH_ENABLED: 'true',
  }
  const byValue = createRedactor({ environment, values: { 'master key': 'correct horse battery' } })

  it('leave in every form they take', () => {
    const value = environment.DB_PASSWORD
    for (const text of [
      `login with ${value}`,
      JSON.stringify({ note: value }),
      `https://x.example/?q=${encodeURIComponent(value)}`,
      Buffer.from(value).toString('base64'),
    ]) {
      expect(byValue(text)).toContain('[redacted:DB_PASSWORD]')
    }
    expect(byValue('the db says s3cr3t-of-db')).toBe('the db says [redacted:DATABASE_URL]')
    expect(byValue('echo plainlookingvalue77')).toBe('echo [redacted:MY_TOKEN]')
    expect(byValue('correct horse battery')).toBe('[redacted:master key]')
  })

  it('are only secrets: paths, switches and hosts stay', () => {
    const text = 'cd /home/someone/project; cat /etc/keys/private.pem; true; db.internal'
    expect(byValue(text)).toBe(text)
  })
})

/** A secret without a form of its own, in places that say what it is. */
const LABELLED: readonly ((secret: string) => string)[] = [
  (s) => `<password>${s}</password>`,
  (s) => `<ns:api-key id="1">${s}</ns:api-key>`,
  (s) => `<db-secret><![CDATA[${s}]]></db-secret>`,
  (s) => `define('DB_PASSWORD', '${s}');`,
  (s) => `config.set("service.token", "${s}")`,
  (s) => `CREATE USER x WITH PASSWORD '${s}'`,
  (s) => `ALTER USER x IDENTIFIED BY "${s}"`,
  (s) => `client-key-data: ${s}`,
  (s) => JSON.stringify({ auths: { 'https://index.docker.io/v1/': { auth: s } } }),
  (s) => `network={ ssid="home" psk="${s}" }`,
  (s) => `[Interface]\nPrivateKey = ${s}`,
  (s) => `PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 1\n${s}\nPrivate-MAC: 00`,
  (s) => `redirect?to=%2Flogin%3Fpassword%3D${s}%26x`,
  (s) => `<input name="p" type="password" value="${s}">`,
  (s) => `Passwort: ${s}`,
  (s) => `la contraseña es ${s}`,
  (s) => `mot de passe : ${s}`,
  (s) => `пароль: ${s}`,
  (s) => `密码：${s}`,
  (s) => `\x1b[1;32mpassword\x1b[0m: \x1b[31m${s}\x1b[0m`,
]

describe('secrets by what stands around them', () => {
  it.each(LABELLED.map((put) => [put('…'), put]))('are found in %s', (_shown, put) => {
    const secret = `${word(9)}7xA${word(12)}`
    expect(redact(put(secret))).not.toContain(secret)
    expect(redact(JSON.stringify({ output: put(secret) }))).not.toContain(secret)
  })

  it('are found behind colours, and in base64 of a text', () => {
    const token = TOKENS['github-token']!
    expect(redact(`\x1b[31m${token}\x1b[0m`)).toBe('\x1b[31m[redacted:github-token]\x1b[0m')
    expect(redact(`data: ${btoa(`export GH_TOKEN=${token}`)}`)).toBe('data: [redacted:base64]')
  })

  it.each(['latin1', 'utf16le'] as const)(
    'are found in bytes in %s, which come back in the same encoding',
    async (encoding) => {
      const token = TOKENS['github-token']!
      const stored = memoryArtifacts({ secret: Buffer.alloc(32, 7) })
      const { artifacts } = redactingDeps(
        { artifacts: stored, sessions: memoryStore() } as unknown as EngineDeps,
        redact,
      )
      const { handle } = await artifacts.put('t', Buffer.from(`caf\u00e9 ${token} end`, encoding))
      const bytes = await stored.read('t', handle)
      expect(Buffer.from(bytes!).toString(encoding)).toBe('caf\u00e9 [redacted:github-token] end')
    },
  )
})

describe('ordinary text', () => {
  it.each([
    'const token: string = getToken(request)',
    'maxTokens: 4096, outputTokens = 1000000',
    'password: string\nsecret = process.env.SECRET',
    'https://example.com/a?page=2&sort=name',
    'sk-learn and key-value and pat.ch files, commit 9fceb02d0ae598e95dc970b74767f19372d61af8',
    'import { secret } from "./secret.ts"',
    'art_0123456789abcdefghjkmnpqrs',
    '<password>string</password> <input type="password" name="p">',
    "fields = ['password', 'username'], { auth: 'required-by-the-server' }",
    "Passwort: vergessen? PASSWORD '' NULL",
  ])('stays as it is: %s', (text) => expect(redact(text)).toBe(text))

  it(`is the same after twice as after once (seed ${SEED})`, () => {
    const part = fc.oneof(
      fc.string({ maxLength: 20 }),
      fc.constantFrom(...Object.values(TOKENS), PEM, 'password=', 'token: ', '"', '\\', '=', '://a:b@', '-----BEGIN '),
    )
    property(
      fc.array(part, { maxLength: 12 }).map((parts) => parts.join('')),
      (text) => {
        const once = redact(text)
        expect(redact(once)).toBe(once)
      },
      500,
    )
  })
})

describe('the borders of a session', () => {
  const secrets = [...Object.values(TOKENS), PEM.split('\n')[1]!]
  const TASK = 'Check the deployment.'

  /** An agent that prints a token with every step, and one private key. */
  function leaky(steps: number): { role: string; content: unknown }[] {
    const messages: { role: string; content: unknown }[] = [{ role: 'user', content: TASK }]
    const tokens = Object.entries(TOKENS)
    for (let step = 0; step < steps; step++) {
      const [name, token] = tokens[step % tokens.length]!
      const lines = Array.from({ length: 12 }, (_, n) => `line ${step}.${n} of the output`)
      const output = [...lines, `${name}: SERVICE_KEY=${token}`, ...(step === 5 ? [PEM] : [])].join('\n')
      messages.push(
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: `t${step}`, name: 'bash', input: { command: `env ${step}` } }],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: `t${step}`, content: output }] },
      )
    }
    return messages
  }

  function guarded(asked: string[] = []) {
    const engine = testEngine()
    const summarizer = {
      name: 'spy',
      window: 100_000,
      summarise: async ({ prompt }: { prompt: string }) => {
        asked.push(prompt)
        return { text: `Check of the deployment by bash with env. Found ${secrets[0]} there.`, stop: 'end' as const }
      },
    }
    const { policy } = engine.deps
    const cascade = [{ step: 'summarise', tail: 4 } as const, ...policy.cascade]
    const summarising = { ...policy, design: summaryDesign(0.1), cascade }
    const deps = redactingDeps({ ...engine.deps, summarizer, policy: summarising }, redact)
    return { ...engine, deps, agent: createSession(async () => deps, { id: 'leaky' }) }
  }

  /** Texts of a request's messages, whether they are a message or a block of one; not what tools returned. */
  function spokenIn(text: string): string[] {
    const { messages } = JSON.parse(text) as { messages: { content: string | { text?: string }[] }[] }
    return messages
      .flatMap(({ content }) => (typeof content === 'string' ? [content] : content.map((block) => block.text)))
      .filter((said) => said !== undefined)
  }

  const found = (text: string): string[] => secrets.filter((secret) => text.includes(secret))

  it('let no secret into archive, artifacts, summaries, search or the summarizer, and reduce all the same', async () => {
    const asked: string[] = []
    const { agent, deps, events } = guarded(asked)
    const large = [`dump ${'x '.repeat(20_000)}`, ...Object.values(TOKENS), PEM].join('\n')
    const shown = await agent.toolResult({ tool: 'bash', callId: 'big', output: large, model: 'm' })
    let text = ''
    for (let steps = 10; steps <= 70; steps += 10) {
      const body = {
        model: 'm',
        max_tokens: 256,
        tools: [{ name: 'bash', input_schema: { type: 'object' } }],
        messages: leaky(steps),
      }
      const turn = await agent.prepare({ format: 'anthropic-messages', body, targets: [{ model: 'm', window: 8_000 }] })
      expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
      text = turn.text
    }
    expect(events.some((event) => event.type === 'epoch-declared')).toBe(true)
    expect(asked.length).toBeGreaterThan(0)
    expect(found(asked.join('\n'))).toEqual([])
    // What the client itself sends is the client's; what we wrote into the view is not.
    const inserted = spokenIn(text).filter((said) => said !== TASK)
    expect(inserted.join('\n')).toContain('Found [redacted:')
    expect(found(inserted.join('\n'))).toEqual([])
    const log: string[] = []
    for await (const { record } of deps.sessions.read('local', 'leaky')) log.push(JSON.stringify(record))
    expect(found(log.join('\n'))).toEqual([])
    expect(log.join('\n')).toContain('SERVICE_KEY=[redacted:')
    expect(found(shown.text)).toEqual([])
    for (const { handle } of await deps.artifacts.list('local'))
      expect(found(Buffer.from((await deps.artifacts.read('local', handle))!).toString())).toEqual([])
    expect(Buffer.from((await deps.artifacts.read('local', shown.artifact!))!).toString()).toContain('dump x x')
    expect((await agent.recall(secrets[1]!)).items).toEqual([])
    expect(found(JSON.stringify(events))).toEqual([])
  })
})
