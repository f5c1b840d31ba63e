import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { PartMigrations } from '../../adapters/sql/kit/migration.ts'

const folder = new URL('../../adapters/sql/', import.meta.url)

/**
 * The migrations of the frame and of each of our parts, for tests of the database that load no part: every export of a
 * file `migrations.ts`. test/composition/parts.test.ts compares them with those of the parts.
 */
export const allMigrations: readonly PartMigrations[] = (
  await Promise.all(
    readdirSync(fileURLToPath(folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `${name}/migrations.ts`)
      .filter((file) => existsSync(fileURLToPath(new URL(file, folder))))
      .sort()
      .map(async (file) => Object.values((await import(new URL(file, folder).href)) as Record<string, unknown>)),
  )
)
  .flat()
  .filter(isPartMigrations)

function isPartMigrations(value: unknown): value is PartMigrations {
  return typeof value === 'object' && value !== null && 'migrations' in value && 'part' in value
}
