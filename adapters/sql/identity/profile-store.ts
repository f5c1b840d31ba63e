import type { AvatarStore } from '../../../core/identity/accounts/ports.ts'
import type { FollowStore } from '../../../core/identity/ports.ts'
import type { User, Viewer } from '../../../core/identity/types.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import type { Page, PageRequest } from '../../../core/kernel/page.ts'
import type { TypedPage } from '../kit/page-query.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { joinPrimaryEmail, userRow, viewerBinds, viewerParams, visibleTo } from './rows.ts'
import type { Binds } from '../kit/columns.ts'
import { pick } from '../kit/columns.ts'
import { typedPage } from '../kit/page-query.ts'
import { newRow, values } from '../kit/values.ts'
import { accounts, avatars, follows } from '../tables/identity.ts'

/** Avatars on SQL. The digest is also stored with the account, so that reading an account needs no join. */
export const makeSqlAvatarStore = (db: SqlDatabase): ((runner: SqlRunner) => AvatarStore) => {
  const s = {
    put: db.prepare({ ...pick(avatars, 'accountId', 'digest', 'bytes'), at: avatars.createdAt }, (k, p) =>
      k('avatars')
        .insert(newRow(avatars, { accountId: p.accountId, digest: p.digest, bytes: p.bytes, createdAt: p.at }))
        .onConflict('account_id')
        .merge(['digest', 'bytes', 'created_at']),
    ),
    remove: db.prepare({ accountId: avatars.accountId }, (k, p) =>
      k('avatars').where('account_id', p.accountId).delete(),
    ),
    name: db.prepare({ accountId: accounts.id, digest: accounts.avatarDigest }, (k, p) =>
      k('accounts')
        .where('id', p.accountId)
        .update(values(accounts, { avatarDigest: p.digest })),
    ),
    byDigest: db.prepare({ digest: avatars.digest }, { bytes: avatars.bytes }, (k, p) =>
      k('avatars').where('digest', p.digest).limit(1),
    ),
  }
  return (runner) => ({
    async put(accountId, digest, bytes, at) {
      await runner.run(s.put, { accountId, digest, bytes, at })
      await runner.run(s.name, { accountId, digest })
    },
    async remove(accountId) {
      const { affected } = await runner.run(s.remove, { accountId })
      await runner.run(s.name, { accountId, digest: undefined })
      return affected > 0
    },
    async byDigest(digest) {
      return (await runner.first(s.byDigest, { digest }))?.bytes
    },
  })
}

/** One side of the relation: the `other` column is joined to the users, and the `fixed` column selects the rows. */
const sideQuery = (
  db: SqlDatabase,
  fixed: 'user_id' | 'target_id',
  other: 'user_id' | 'target_id',
): TypedPage<Binds<typeof viewerParams> & { readonly userId: UserId }, User> =>
  typedPage(
    db,
    { userId: follows.userId, ...viewerParams },
    userRow,
    (k, p) =>
      k('users as u')
        .join('follows as side', `side.${other}`, 'u.id')
        .where(`side.${fixed}`, p.userId)
        .modify(visibleTo(k, p)),
    (k, rows, cut) => cut(joinPrimaryEmail(k, rows.join('accounts as a', 'a.id', 'u.id')).orderBy('a.lower_name')),
  )

const statements = (db: SqlDatabase) => ({
  follow: db.prepare({ ...pick(follows, 'userId', 'targetId'), at: follows.createdAt }, (k, p) =>
    k('follows')
      .insert(newRow(follows, { userId: p.userId, targetId: p.targetId, createdAt: p.at }))
      .onConflict(['user_id', 'target_id'])
      .ignore(),
  ),
  unfollow: db.prepare(pick(follows, 'userId', 'targetId'), (k, p) =>
    k('follows').where('user_id', p.userId).where('target_id', p.targetId).delete(),
  ),
  isFollowing: db.prepare(pick(follows, 'userId', 'targetId'), { userId: follows.userId }, (k, p) =>
    k('follows').where('user_id', p.userId).where('target_id', p.targetId),
  ),
  followers: sideQuery(db, 'target_id', 'user_id'),
  following: sideQuery(db, 'user_id', 'target_id'),
})

/** Follow relations on SQL. */
export const makeSqlFollowStore = (db: SqlDatabase): ((runner: SqlRunner) => FollowStore) => {
  const s = statements(db)
  return (runner) => {
    const side = async (
      list: TypedPage<Binds<typeof viewerParams> & { readonly userId: UserId }, User>,
      viewer: Viewer,
      userId: UserId,
      page: PageRequest,
    ): Promise<Page<User>> => {
      return list(runner, { userId, ...viewerBinds(viewer) }, page)
    }
    return {
      async follow(userId, targetId, at) {
        return (await runner.run(s.follow, { userId, targetId, at })).affected > 0
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
