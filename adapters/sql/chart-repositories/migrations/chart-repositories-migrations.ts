import type { PartMigrations } from '../../migrations/migration.ts'
import { migration as chartRepositories } from './0022-chart-repositories.ts'

export const chartRepositoriesMigrations: PartMigrations = {
  part: 'chart-repositories',
  needs: ['identity'],
  migrations: [chartRepositories],
}
