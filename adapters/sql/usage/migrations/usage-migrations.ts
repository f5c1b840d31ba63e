import type { PartMigrations } from '../../migrations/migration.ts'
import { migration as events } from './0031-events.ts'
import { migration as clusters } from './0032-clusters.ts'
import { migration as months } from './0033-months.ts'
import { migration as terms } from './0041-terms.ts'
import { migration as intake } from './0043-intake.ts'
import { migration as refused } from './0044-refused.ts'
import { migration as finalMonths } from './0045-final-months.ts'

export const usageMigrations: PartMigrations = {
  part: 'usage',
  needs: [],
  migrations: [events, clusters, months, terms, intake, refused, finalMonths],
}
