import type { Knex } from 'knex'
import type { AvatarStore } from '../../../core/identity/accounts/ports.ts'
import type { FollowStore } from '../../../core/identity/ports.ts'
import type { User, Viewer } from '../../../core/identity/types.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import type { Page, PageRequest } from '../../../core/kernel/page.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { PageQuery } from '../kit/page-query.ts'
import { pageQuery } from '../kit/page-query.ts'
import type { Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { UserRow, ViewerBind } from './rows.ts'
import { userOf, viewerBinds, visibleTo, withUserColumns } from './rows.ts'

/** Avatars on SQL. The digest is also stored with the account, so that reading an account needs no join. */
export const makeSqlAvatarStore = (db: SqlDatabase): ((runner: SqlRunner) => AvatarStore) => {
  const s = {
    put: db.prepare((k, p: Params<'accountId' | 'digest' | 'bytes' | 'at'>) =>
      k('avatars')
        .insert({ account_id: p('accountId'), digest: p('digest'), bytes: p('bytes'), created_at: p('at') })
        .onConflict('account_id')
        .merge(['digest', 'bytes', 'created_at']),
    ),
    remove: db.prepare((k, p: Params<'accountId'>) => k('avatars').where('account_id', p('accountId')).delete()),
    name: db.prepare((k, p: Params<'accountId' | 'digest'>) =>
      k('accounts')
        .where('id', p('accountId'))
        .update({ avatar_digest: p('digest') }),
    ),
    byDigest: db.prepare((k, p: Params<'digest'>) =>
      k('avatars').where('digest', p('digest')).select('bytes').limit(1),
    ),
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

/** One side of the relation: the `other` column is joined to the users, and the `fixed` column selects the rows. */
const sideQuery = (
  db: SqlDatabase,
  fixed: 'user_id' | 'target_id',
  other: 'user_id' | 'target_id',
): PageQuery<'userId' | ViewerBind> =>
  pageQuery(
    db,
    (k, p: Params<'userId' | ViewerBind>) =>
      k('users as u')
        .join('follows as side', `side.${other}`, 'u.id')
        .where(`side.${fixed}`, p('userId'))
        .modify(visibleTo(k, p)),
    (k, rows, cut) => cut(withUserColumns(k, rows.join('accounts as a', 'a.id', 'u.id')).orderBy('a.lower_name')),
  )

const statements = (db: SqlDatabase) => ({
  follow: db.prepare((k, p: (n: 'userId' | 'targetId' | 'at') => Knex.Value) =>
    k('follows')
      .insert({ user_id: p('userId'), target_id: p('targetId'), created_at: p('at') })
      .onConflict(['user_id', 'target_id'])
      .ignore(),
  ),
  unfollow: db.prepare((k, p: (n: 'userId' | 'targetId') => Knex.Value) =>
    k('follows').where('user_id', p('userId')).where('target_id', p('targetId')).delete(),
  ),
  isFollowing: db.prepare((k, p: (n: 'userId' | 'targetId') => Knex.Value) =>
    k('follows').where('user_id', p('userId')).where('target_id', p('targetId')).select('user_id'),
  ),
  followers: sideQuery(db, 'target_id', 'user_id'),
  following: sideQuery(db, 'user_id', 'target_id'),
})

/** Follow relations on SQL. */
export const makeSqlFollowStore = (db: SqlDatabase): ((runner: SqlRunner) => FollowStore) => {
  const s = statements(db)
  return (runner) => {
    const side = async (
      list: PageQuery<'userId' | ViewerBind>,
      viewer: Viewer,
      userId: UserId,
      page: PageRequest,
    ): Promise<Page<User>> => {
      return mapPage(await list<UserRow>(runner, { userId, ...viewerBinds(viewer) }, page), userOf)
    }
    return {
      async follow(userId, targetId, at) {
        return (await runner.run(s.follow, { userId, targetId, at: at.getTime() })).affected > 0
      },
      async unfollow(userId, targetId) {
        return (await runner.run(s.unfollow, { userId, targetId })).affected > 0
      },
      async isFollowing(userId, targetId) {
        return (await runner.first(s.isFollowing, { userId, targetId })) !== undefined
      },
      followers: (viewer, userId, page) => side(s.followers, viewer, userId, page),
      following: (viewer, userId, page) => side(s.following, viewer, userId, page),
    }
  }
}
