import { Command } from 'commander'
import { learnedLimits, type LearnedPlace } from '../../engine/learning/learned-limits.ts'
import { systemClock } from '../../ports/clock.ts'
import { grouped, plural } from '../kit/figures.ts'
import { print, printList, when } from '../kit/output.ts'
import { commandOverStore, withStores, type StoreFlags } from '../stores.ts'

interface LimitsFlags extends StoreFlags {
  readonly endpoint?: string
  readonly model?: string
}

export function limitsCommand(): Command {
  return new Command('limits').addCommand(ls()).addCommand(forget())
}

const onLimits = (name: string, description: string, ...examples: readonly string[]): Command =>
  commandOverStore(name, description, ...examples)
    .option('--endpoint <url>', 'only of this upstream')
    .option('--model <id>', 'only of this model')

const ls = (): Command =>
  onLimits(
    'ls',
    'List the learned limits that are in effect.',
    'plimsoll limits ls',
    'plimsoll limits ls --model qwen3 --json',
  ).action((flags: LimitsFlags) =>
    withStores(flags, async ({ sessions }) => {
      const found = await learnedLimits(sessions, systemClock).list(placeOf(flags))
      printList(
        flags.json,
        found,
        'Nothing was learned: windows come from your settings and the catalogue.',
        [
          { head: 'model', keeps: 'start' },
          { head: 'endpoint', keeps: 'start' },
          { head: 'window', align: 'right' },
          { head: 'body bytes', align: 'right' },
          { head: 'learned from' },
          { head: 'until' },
          { head: 'tenant' },
        ],
        ({ model, endpoint, window, bodyBytes, from, until, tenant }) => [
          model,
          endpoint,
          window === undefined ? '' : grouped(window),
          bodyBytes === undefined ? '' : grouped(bodyBytes),
          from === 'refusal' ? 'a refusal' : 'silent truncation',
          when(until),
          tenant,
        ],
      )
    }),
  )

const forget = (): Command =>
  onLimits(
    'forget',
    'Forget learned limits; they are learned again when an upstream refuses a request.',
    'plimsoll limits forget',
    'plimsoll limits forget --endpoint http://localhost:11434',
  ).action((flags: LimitsFlags) =>
    withStores(flags, async ({ sessions }) => {
      const forgotten = await learnedLimits(sessions, systemClock).forget(placeOf(flags))
      print(
        flags.json,
        { forgotten },
        () => `${plural(forgotten, 'limit')} forgotten. A running proxy follows within 30 seconds.`,
      )
    }),
  )

const placeOf = ({ tenant, endpoint, model }: LimitsFlags): Partial<LearnedPlace> => ({ tenant, endpoint, model })
