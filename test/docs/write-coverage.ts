import { writeFileSync } from 'node:fs'
import { coverageBy, coveragePage } from '../spec-coverage/coverage-page.ts'
import { notDeclared, widerOperations } from '../spec-coverage/rows.ts'
import { declaredRoutes } from '../support/declared-routes.ts'
import { fromRoot } from './asvs-table.ts'

writeFileSync(
  fromRoot('docs/coverage.md'),
  coveragePage(widerOperations(), coverageBy(declaredRoutes(), notDeclared())),
)
