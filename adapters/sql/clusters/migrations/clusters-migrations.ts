import type { PartMigrations } from '../../migrations/migration.ts'
import { migration as records } from './0006-records.ts'
import { migration as managedNames } from './0028-managed-names.ts'
import { migration as setNames } from './0034-set-names.ts'

export const clustersMigrations: PartMigrations = {
  part: 'clusters',
  needs: ['identity'],
  migrations: [records, managedNames, setNames],
}
