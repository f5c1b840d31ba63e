import { AuthorizerToken } from '../../core/authz/ports.ts'
import { makeClusterTasks } from '../../core/cluster-tasks/cluster-tasks.ts'
import { ClusterTasksToken } from '../../core/cluster-tasks/ports.ts'
import { MemberClustersToken } from '../../core/clusters/ports.ts'
import { PauseToken } from '../../core/kernel/clock.ts'
import { TasksToken } from '../../core/tasks/ports.ts'
import type { Provide } from '../boot.ts'

/** Provides work on member clusters that outlives its request. */
export const provideClusterTasks: Provide = (container) => {
  container.provide(ClusterTasksToken, (resolve) =>
    makeClusterTasks({
      tasks: resolve(TasksToken),
      authorizer: resolve(AuthorizerToken),
      memberClusters: resolve(MemberClustersToken),
      pause: resolve(PauseToken),
    }),
  )
}
