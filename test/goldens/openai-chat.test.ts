import { describeGoldens } from './describe-goldens.ts'

describeGoldens('openai-chat')
