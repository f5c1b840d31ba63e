import type { Knex } from 'knex'
import type { AvatarStore } from '../../../core/identity/avatar-ports.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'

type P<N extends string> = (name: N) => Knex.Value

/** Avatars on SQL: the digest stands with the account as well, so that reading an account needs no join. */
export const makeSqlAvatarStore = (db: SqlDatabase): ((runner: SqlRunner) => AvatarStore) => {
  const s = {
    put: db.prepare((k, p: P<'accountId' | 'digest' | 'bytes' | 'at'>) =>
      k('avatars')
        .insert({ account_id: p('accountId'), digest: p('digest'), bytes: p('bytes'), created_at: p('at') })
        .onConflict('account_id')
        .merge(['digest', 'bytes', 'created_at']),
    ),
    remove: db.prepare((k, p: P<'accountId'>) => k('avatars').where('account_id', p('accountId')).delete()),
    name: db.prepare((k, p: P<'accountId' | 'digest'>) => k('accounts').where('id', p('accountId')).update({ avatar_digest: p('digest') })),
    byDigest: db.prepare((k, p: P<'digest'>) => k('avatars').where('digest', p('digest')).select('bytes').limit(1)),
  }
  return (runner) => ({
    async put(accountId, digest, bytes, at) {
      await runner.run(s.put, { accountId, digest, bytes, at: at.getTime() })
      await runner.run(s.name, { accountId, digest })
    },
    async remove(accountId) {
      const { affected } = await runner.run(s.remove, { accountId })
      await runner.run(s.name, { accountId, digest: null })
      return affected > 0
    },
    async byDigest(digest) {
      return (await runner.first<{ bytes: Uint8Array }>(s.byDigest, { digest }))?.bytes
    },
  })
}
