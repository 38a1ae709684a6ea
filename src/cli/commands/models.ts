import { Command } from 'commander'
import { PlimsollError } from '../../core/errors.ts'
import type { ModelInfo } from '../../ports/catalogue.ts'
import { grouped, short, wrap } from '../kit/figures.ts'
import { withExamples } from '../kit/examples.ts'
import { print, printTable, screenOf } from '../kit/output.ts'
import { rate, vendorsFirst, knownModels, storeCatalogue } from '../catalogue.ts'
import { oneOrMore } from '../option-values.ts'
import { fetchCatalogue } from '../../drivers/catalogue/update.ts'

interface ModelsFlags {
  readonly limit: number
  readonly json?: boolean
}

export function modelsCommand(): Command {
  return withExamples(
    new Command('models')
      .argument('[query...]', 'words that the model id contains')
      .option('--limit <n>', 'show at most this many rows', oneOrMore, 40)
      .option('--json', 'print every match with all its fields'),
    'plimsoll models sonnet',
    'plimsoll models gpt-5 mini --json',
  )
    .action(runModels)
    .addCommand(update())
}

interface UpdateFlags {
  readonly url?: string
}

const update = (): Command =>
  withExamples(
    new Command('update')
      .description('Download current windows and prices; they then replace those shipped with the package.')
      .option('--url <url>', 'another URL with a list in the same format')
      .option('--json', 'machine-readable output'),
    'plimsoll models update',
  ).action(async (_flags: UpdateFlags, command: Command) => {
    const { url, json } = command.optsWithGlobals<UpdateFlags & { readonly json?: boolean }>()
    const found = await fetchCatalogue({ url })
    const file = storeCatalogue(found, new Date().toISOString().slice(0, 10))
    print(json, { models: found.models, url: found.url, file }, () => {
      return `${grouped(found.models)} models from ${found.url}, stored in ${file}.`
    })
  })

function runModels(query: string[], flags: ModelsFlags): void {
  const catalogue = knownModels()
  const words = query.join(' ')
  const found = vendorsFirst(catalogue.search(words))
  const resolved = catalogue.resolve(words)
  const models = found.length > 0 || resolved.match === 'default' ? found : [resolved.info]
  if (models.length === 0)
    throw new PlimsollError('not-found', `No model matches ${JSON.stringify(words)}.`, {
      advice: `Plimsoll assumes a window of ${grouped(resolved.info.window)} tokens for unknown models; --window sets another.`,
    })
  print(flags.json, models, () => {
    const rest = models.length - flags.limit
    const table = printTable(
      [
        { head: 'model', keeps: 'start' },
        { head: 'window', align: 'right' },
        { head: 'output', align: 'right', optional: true },
        { head: '$ in', align: 'right' },
        { head: 'cached', align: 'right', optional: true },
        { head: 'out', align: 'right' },
        { head: 'tokenizer', optional: true },
      ],
      models.slice(0, flags.limit).map(rowOf),
    )
    const more = `… and ${grouped(rest)} more; narrow the query, or use --limit ${models.length}.`
    return rest > 0 ? `${table}${wrap(more, screenOf(process.stdout).width).join('\n')}` : table
  })
}

const rowOf = ({ id, window, maxOutputTokens, price, tokenizer }: ModelInfo): readonly string[] => [
  id,
  short(window),
  maxOutputTokens === undefined ? '' : short(maxOutputTokens),
  rate(price?.input),
  rate(price?.cacheRead),
  rate(price?.output),
  tokenizer,
]
