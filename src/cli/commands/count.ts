import { readFile } from 'node:fs/promises'
import { text as readAll } from 'node:stream/consumers'
import { Command, Option } from 'commander'
import { PlimsollError } from '../../core/errors.ts'
import { createTokenizers } from '../../drivers/tokenizers/tokenizers.ts'
import { codecs, framingOfWire } from '../../formats/registry.ts'
import { createMeter, type Meter } from '../../meter/index.ts'
import type { Count } from '../../core/count.ts'
import { grouped, percent } from '../kit/figures.ts'
import { printError, print } from '../kit/output.ts'
import { withExamples } from '../kit/examples.ts'
import { knownModels } from '../catalogue.ts'

interface CountFlags {
  readonly model: string
  readonly request?: string
  readonly json?: boolean
}

interface Counted extends Count {
  readonly file: string
  readonly bytes: number
  readonly model: string
  readonly parts?: Readonly<Record<string, number>>
}

export function countCommand(): Command {
  return withExamples(
    new Command('count')
      .argument('[files...]', 'text files; - or none for standard input')
      .option('--model <id>', 'use the tokenizer of this model', 'gpt-5')
      .addOption(
        new Option(
          '--request <wire>',
          'the input is a request body: count system, tools, messages and framing',
        ).choices([...codecs.keys()]),
      )
      .option('--json', 'one object per file'),
    'plimsoll count README.md --model claude-sonnet-4-5',
    `plimsoll count request.json --request ${[...codecs.keys()][0]} --model claude-sonnet-4-5 --json`,
  ).action(runCount)
}

async function runCount(files: string[], flags: CountFlags): Promise<void> {
  const catalogue = knownModels()
  const { info, match } = catalogue.resolve(flags.model)
  if (match === 'default')
    printError(
      `${flags.model} is not in the catalogue; counted with the tokenizer ${info.tokenizer}. plimsoll models lists known ones.`,
    )
  const tokenizers = createTokenizers()
  await tokenizers.load(info.tokenizer)
  const meter = createMeter({ catalogue, framingOf: framingOfWire, tokenizerFor: tokenizers.get })
  const counted: Counted[] = []
  for (const file of files.length === 0 ? ['-'] : files)
    counted.push(countOne(meter, file, await contentOf(file), flags))
  print(flags.json, counted, () => counted.map((one) => lineOf(one, info.window)).join('\n'))
}

async function contentOf(file: string): Promise<string> {
  if (file === '-') return readAll(process.stdin)
  return readFile(file, 'utf8').catch((cause: unknown) => {
    throw new PlimsollError('bad-input', `${file} cannot be read.`, { cause, advice: 'Check the path.' })
  })
}

function countOne(meter: Meter, file: string, content: string, { model, request }: CountFlags): Counted {
  const bytes = Buffer.byteLength(content)
  if (request === undefined) return { file, bytes, model, ...meter.countText(model, content) }
  const { count, parts } = meter.measure(model, codecs.get(request)!.decode(content), bytes)
  return { file, bytes, model, ...count, parts }
}

function lineOf({ file, bytes, model, tokens, low, high, source, parts }: Counted, window: number): string {
  const interval = low === high ? '' : ` (${grouped(low)} to ${grouped(high)})`
  const shares =
    parts === undefined
      ? ''
      : `; ${Object.entries(parts)
          .map(([part, value]) => `${part} ${grouped(value)}`)
          .join(', ')}`
  return `${grouped(tokens)} tokens${interval}  ${file}  ${grouped(bytes)} bytes, ${model}, ${source}, ${percent(tokens, window)} of the window${shares}`
}
