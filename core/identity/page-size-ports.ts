import type { UserId } from '../kernel/ids.ts'

/** How many rows a page of each user interface shows to a user. Lists of this interface take `limit` instead. */
export interface PageSizes {
  readonly productUi: number
  readonly consoleUi: number
  readonly platformUi: number
}

/** What users chose. */
export interface PageSizeStore {
  /** Undefined while the user chose nothing. */
  find(userId: UserId): Promise<PageSizes | undefined>
  put(userId: UserId, sizes: PageSizes): Promise<void>
}
