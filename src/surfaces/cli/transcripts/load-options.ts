import { Option, type Command } from 'commander'
import type { LoadOptions } from '../../../formats/transcripts/recording.ts'

/** How a recording becomes requests again. */
export function addLoadOptions(command: Command, defaults: Required<Pick<LoadOptions, 'resend'>>): Command {
  return command
    .addOption(
      new Option(
        '--resend <what>',
        'what calls send after a compaction that the recorded client made itself: what was left, or everything as if it had never compacted',
      )
        .choices(['recorded', 'everything'])
        .default(defaults.resend),
    )
    .addOption(
      new Option(
        '--thinking <what>',
        'recorded reasoning: keep it in the history, or drop it as clients do that never resend it',
      )
        .choices(['keep', 'drop'])
        .default('keep'),
    )
    .addOption(
      new Option(
        '--parallel <how>',
        'parallel calls that a log holds one by one: merge them as the API sent them, or keep them as written',
      )
        .choices(['merged', 'as-written'])
        .default('merged'),
    )
}
