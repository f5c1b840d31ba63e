import { writeFileSync } from 'node:fs'
import { asvsMarkdown, fromRoot, readAsvsTable } from './asvs-table.ts'

writeFileSync(fromRoot('docs/asvs.md'), asvsMarkdown(readAsvsTable()))
