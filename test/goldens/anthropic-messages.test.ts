import { describeGoldens } from './describe-goldens.ts'

describeGoldens('anthropic-messages')
