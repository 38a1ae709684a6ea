import { describeGoldens } from './describe-goldens.ts'

describeGoldens('ollama-chat')
