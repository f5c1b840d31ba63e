import { writeFileSync } from 'node:fs'
import { fromRoot } from '../asvs-table.ts'
import { monitoringFiles } from './monitoring-files.ts'

for (const [file, text] of Object.entries(monitoringFiles())) writeFileSync(fromRoot(file), text)
