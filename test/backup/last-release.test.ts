// process: own - keeps its process busy
import test from 'ava'
import { previousSchema } from '../../adapters/sql/kernel/migrations.ts'
import { readArchive } from '../../composition/runtime/cli/backup/archive.ts'
import { migratedSqlitePath } from '../support/databases.ts'
import { archiveOfLastRelease, backup, newDeployment, passphraseFile, restoresLastRelease } from './drill.fixture.ts'

test.serial('an archive of the last release is restored into its own schema, then migrated', async (t) => {
  t.timeout(300_000)
  const { manifest } = await readArchive(archiveOfLastRelease)
  t.is(manifest.migrations.at(-1), previousSchema, 'the archive in the tests is that of the last release')
  await restoresLastRelease(t, newDeployment())
})

test.serial('an empty database of a newer schema than the archive is refused, with the way', async (t) => {
  const target = newDeployment(`sqlite:${await migratedSqlitePath()}`)
  const { code, err } = await backup(target, 'restore', archiveOfLastRelease, '--passphrase-file', passphraseFile)
  t.is(code, 1)
  t.regex(err, /The schema of the database is newer than the backup\. Give a database without tables/)
})
