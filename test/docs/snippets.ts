import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './pages.ts'

export interface Snippet {
  readonly page: string
  /** Of the first line in the page. */
  readonly line: number
  readonly code: string
}

export function snippetsOf(page: string): Snippet[] {
  const lines = readFileSync(join(ROOT, page), 'utf8').split('\n')
  const found: Snippet[] = []
  for (let at = 0; at < lines.length; at++) {
    if (!/^```(?:ts|typescript)$/.test(lines[at]!)) continue
    const end = lines.indexOf('```', at + 1)
    found.push({ page, line: at + 2, code: lines.slice(at + 1, end).join('\n') })
    at = end
  }
  return found
}

/**
 * What a reader has before a snippet begins, each with a real type. A snippet that declares or imports a name itself does not get it.
 */
const CONTEXT: Readonly<Record<string, string>> = {
  OpenAI: "import OpenAI from 'openai'",
  createPlimsoll: "import { createPlimsoll } from 'plimsoll'",
  policyNamed: "import { policyNamed } from 'plimsoll/policies'",
  artifactReaders: "import { artifactReaders } from 'plimsoll/readers'",
  readerProvenance: "import { readerProvenance } from 'plimsoll/readers'",
  artifactStoreCases: "import { artifactStoreCases } from 'plimsoll/testing'",
  tool: "import { tool } from '@langchain/core/tools'",
  plimsoll: "declare const plimsoll: import('plimsoll').Plimsoll",
  session: "declare const session: import('plimsoll').Session",
  callId: 'declare const callId: string',
  output: 'declare const output: string',
  handle: "declare const handle: import('plimsoll').Handle",
  secret: 'declare const secret: Uint8Array',
  bytes: 'declare const bytes: Uint8Array',
  tenant: 'declare const tenant: string',
  text: 'declare const text: string',
  prompt: 'declare const prompt: string',
  countTokens: 'declare const countTokens: (text: string) => number',
  myModel: 'declare const myModel: (prompt: string) => Promise<string>',
  // A request of the vendor's SDK goes through `prepare` and comes out as one.
  body: "declare const body: import('@anthropic-ai/sdk').Anthropic.MessageCreateParamsNonStreaming",
  send: "declare const send: (body: import('@anthropic-ai/sdk').Anthropic.MessageCreateParamsNonStreaming) => Promise<import('@anthropic-ai/sdk').Anthropic.Message>",
  anthropic: "declare const anthropic: import('@anthropic-ai/sdk').Anthropic",
  messages: "declare const messages: import('@anthropic-ai/sdk').Anthropic.MessageParam[]",
  ownTools: "declare const ownTools: import('@anthropic-ai/sdk').Anthropic.Tool[]",
  records: "declare const records: Parameters<ReturnType<typeof import('plimsoll/stores').openStore>['append']>[2]",
  more: "declare const more: Parameters<ReturnType<typeof import('plimsoll/stores').openStore>['append']>[2]",
  it: "import { it } from 'vitest'",
  expect: "import { expect } from 'vitest'",
  makeSubject:
    "declare const makeSubject: () => Promise<Parameters<ReturnType<typeof import('plimsoll/testing').sessionStoreCases>[number]['run']>[0]>",
  myStore:
    "declare const myStore: (...given: Parameters<Parameters<ReturnType<typeof import('plimsoll/testing').artifactStoreCases>[number]['run']>[0]> extends [infer Given] ? Given extends { space: infer Space; clock: infer Clock } ? [Space, Clock] : never : never) => ReturnType<Parameters<ReturnType<typeof import('plimsoll/testing').artifactStoreCases>[number]['run']>[0]>",
}

/** The same where a page is about a framework. */
const PAGE_CONTEXT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'docs/adapters/ai-sdk.md': {
    model: "declare const model: Parameters<typeof import('ai').wrapLanguageModel>[0]['model']",
    ownTools: "declare const ownTools: { bash: import('ai').Tool<{ command: string }, string> }",
  },
  'docs/adapters/langchain.md': {
    readLog: "declare const readLog: import('@langchain/core/tools').DynamicStructuredTool",
    messages: "declare const messages: import('@langchain/core/messages').BaseMessage[]",
  },
  'docs/adapters/openai-agents.md': {
    clientWith:
      "declare const clientWith: (fetch: import('plimsoll').Plimsoll['fetch']) => NonNullable<import('@openai/agents').OpenAIProviderOptions['openAIClient']>",
    readLog: "declare const readLog: import('@openai/agents').FunctionTool",
    otherProvider: "declare const otherProvider: import('@openai/agents').ModelProvider",
  },
}

const isFree = (name: string, code: string): boolean =>
  new RegExp(`(?<!(?<!\\.\\.)\\.|[\\w'"\`])${name}(?![\\w'"\`])(?!:)`).test(
    code.replaceAll(/\/\/.*$/gm, '').replaceAll(/'[^'\n]*'/g, "''"),
  ) &&
  !new RegExp(
    `(?:import[^;\n]*[{ ,]${name}[ ,}]|import ${name} |(?:const|let|function|class) ${name}\\b|(?:const|let) [{[][^=]*\\b${name}\\b[^=]*[}\\]] =)`,
  ).test(code)

function moduleOf({ page, code }: Snippet): string {
  const known = { ...CONTEXT, ...PAGE_CONTEXT[page] }
  const given = Object.entries(known).filter(([name]) => isFree(name, code))
  const body = isPart(code) ? `const part: Partial<import('plimsoll').Policy> = { ${code} }\nvoid part` : code
  return `${given.map(([, line]) => line).join('\n')}\n${body}\nexport {}\n`
}

/** Members of a policy, shown without what stands around them. */
const isPart = (code: string): boolean => /^\w+: \{/.test(code)

/** Type-checks snippets as a strict project that has the package and its frameworks installed; what is wrong, by page and line. */
export function checkSnippets(snippets: readonly Snippet[], folder: string): string[] {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const names = snippets.map(({ page, line }) => `${page.replaceAll(/[^a-z0-9]+/gi, '-')}-${line}.ts`)
  for (const [at, snippet] of snippets.entries()) writeFileSync(join(folder, names[at]!), moduleOf(snippet))
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { default: string }>
  }
  const paths = Object.entries(manifest.exports).flatMap(([subpath, target]) =>
    typeof target === 'string'
      ? []
      : [
          [
            subpath.replace(/^\./, 'plimsoll'),
            [join(ROOT, target.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts'))],
          ],
        ],
  )
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    // Snippets show a value by naming it.
    compilerOptions: { noUnusedLocals: false, paths: Object.fromEntries(paths) as object },
    include: ['*.ts'],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const compiler = join(ROOT, 'node_modules/.bin/tsc')
  try {
    execFileSync(compiler, ['--noEmit', '--pretty', 'false', '-p', folder], { encoding: 'utf8', cwd: folder })
    return []
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    return `${stdout}${stderr}`.split('\n').filter((line) => /error/.test(line))
  } finally {
    if (process.env['KEEP'] === undefined) rmSync(folder, { recursive: true, force: true })
  }
}
