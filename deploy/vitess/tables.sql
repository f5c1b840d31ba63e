-- The tables of the keyspace `moorage` that only Vitess uses: a sequence for each numbered table of the sharded keyspace,
-- and the look-ups that find the shard of a row by its id. After an import, `next_id` must be greater than every id.

create table usage_clusters_seq (id bigint not null primary key, next_id bigint not null, cache bigint not null) comment 'vitess_sequence';
insert into usage_clusters_seq (id, next_id, cache) values (0, 1, 1000);

create table usage_conflicts_seq (id bigint not null primary key, next_id bigint not null, cache bigint not null) comment 'vitess_sequence';
insert into usage_conflicts_seq (id, next_id, cache) values (0, 1, 1000);

create table usage_final_months_seq (id bigint not null primary key, next_id bigint not null, cache bigint not null) comment 'vitess_sequence';
insert into usage_final_months_seq (id, next_id, cache) values (0, 1, 1000);

create table usage_months_seq (id bigint not null primary key, next_id bigint not null, cache bigint not null) comment 'vitess_sequence';
insert into usage_months_seq (id, next_id, cache) values (0, 1, 1000);

create table usage_objects_seq (id bigint not null primary key, next_id bigint not null, cache bigint not null) comment 'vitess_sequence';
insert into usage_objects_seq (id, next_id, cache) values (0, 1, 1000);

create table usage_refused_seq (id bigint not null primary key, next_id bigint not null, cache bigint not null) comment 'vitess_sequence';
insert into usage_refused_seq (id, next_id, cache) values (0, 1, 1000);

create table usage_views_seq (id bigint not null primary key, next_id bigint not null, cache bigint not null) comment 'vitess_sequence';
insert into usage_views_seq (id, next_id, cache) values (0, 1, 1000);

create table lookup_usage_cluster (id bigint unsigned not null primary key, keyspace_id varbinary(16) not null);

create table lookup_usage_month (id bigint unsigned not null primary key, keyspace_id varbinary(16) not null);

create table lookup_usage_object (id bigint unsigned not null primary key, keyspace_id varbinary(16) not null);

create table lookup_usage_view (id bigint unsigned not null primary key, keyspace_id varbinary(16) not null);
