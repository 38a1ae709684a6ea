import { describeGoldens } from './describe-goldens.ts'

describeGoldens('gemini')
