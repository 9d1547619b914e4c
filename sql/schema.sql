-- name: meta
-- one row: the schema version and the edition of this store
create table if not exists meta (
    schema_version integer not null,
    edition        varchar not null,
    created_at     timestamptz not null
);

-- name: runs
-- one row per run: when it ran, with which settings, and how it ended
create table if not exists runs (
    run_id       varchar primary key,
    command      varchar not null,
    started_at   timestamptz not null,
    ended_at     timestamptz,
    outcome      varchar,                -- done | incomplete | fault | refused | paused | stopped; null: running or killed
    settings     json not null,
    code_version varchar not null
);

-- name: imports
-- one row per imported file: how many records it added
create table if not exists imports (
    run_id    varchar not null,
    file      varchar not null,
    sha256    varchar not null,
    kind      varchar not null check (kind in ('papers', 'reviews', 'notes', 'yelp', 'graded')),
    added     integer not null,
    unchanged integer not null,
    refused   integer not null,
    domain    varchar,                   -- the domain of the reviewed items, if the file states it
    happened_at timestamptz not null
);

-- name: additions
-- one row per paper, review or judgments that an import added: which import added it
create table if not exists additions (
    run_id varchar not null,
    file   varchar not null,
    kind   varchar not null check (kind in ('paper', 'review', 'judgments')),
    item   varchar not null,             -- paper_id or review_id
    writer varchar not null,             -- writer of the judgments; empty for papers and reviews
    primary key (kind, item, writer)
);

-- name: papers
-- one row per known paper of the venue-year
create table if not exists papers (
    paper_id  varchar primary key,
    title     varchar not null,
    abstract  varchar,
    text      varchar,
    source_row integer                   -- row number in its source, if there is one
);

-- name: reviews
-- one row per review, by a human or by a candidate
create table if not exists reviews (
    review_id varchar primary key,
    paper_id  varchar not null,
    candidate varchar not null,          -- 'human', or the candidate that wrote it
    text      varchar,
    slot      integer,                   -- number among the paper's human reviews, as stated in the source
    rating    double,
    grade     double                     -- a human grade of the review itself
);

-- name: points
-- one row per labelled point: a single remark of a review, with the labels that people gave it
create table if not exists points (
    point_id  varchar primary key,
    paper_id  varchar not null,
    review_id varchar,                   -- null: the edition does not have the review
    candidate varchar not null,
    text      varchar not null,
    place     integer not null,          -- position among the points of its review
    labels    json not null,             -- label name → value; higher is better
    run_id    varchar not null
);

-- name: judgments
-- one row per review and writer: the judgments of the review, exactly as the writer wrote them
create table if not exists judgments (
    review_id varchar not null,
    writer    varchar not null,
    text      varchar not null,
    lines     integer not null,          -- lines that start with one of the four openings
    strays    integer not null,          -- other lines that are not blank
    primary key (review_id, writer)
);

-- name: snapshots
-- one row per snapshot of notes and PDFs that was imported
create table if not exists snapshots (
    digest      varchar primary key,
    path        varchar not null,         -- its folder under snapshots/ in the state folder
    imported_at timestamptz not null
);

-- name: review_versions
-- one row per human review of a fetched snapshot: which version of the review is used, and why
create table if not exists review_versions (
    review_id  varchar primary key,
    versions   integer not null,         -- number of known versions
    version_id varchar,                  -- null: the version of the fetched note
    written_at timestamptz,
    rule       varchar not null,
    licence    varchar                   -- as the note states it
);

-- name: paper_sources
-- one row per paper of a fetched snapshot: its PDF, the PDF's version, and the paper's licence
create table if not exists paper_sources (
    paper_id           varchar primary key,
    pdf_sha256         varchar,
    pdf_problem        varchar,          -- why a requested PDF is missing
    pdf_version_status varchar not null
        check (pdf_version_status in ('submitted', 'revised_after_review', 'camera_ready', 'unknown')),
    licence            varchar           -- as the note states it
);

-- name: licences
-- one row per paper or review whose licence an import stated: the licence of its texts
create table if not exists licences (
    kind    varchar not null check (kind in ('paper', 'review')),
    item    varchar not null,            -- paper_id or review_id
    licence varchar not null,            -- as the import states it
    primary key (kind, item)
);

-- name: paper_strata
-- one row per paper and kind of stratum: the paper's decision, primary area or track, as the notes state it
create table if not exists paper_strata (
    paper_id varchar not null,
    stratum  varchar not null,
    value    varchar not null,
    primary key (paper_id, stratum)
);

-- name: texts
-- one row per sampled paper whose text was read from a snapshot: the source and the status of the text
create table if not exists texts (
    paper_id varchar primary key,
    origin   varchar not null check (origin in ('pdf', 'given')),
    sha256   varchar not null,           -- of the PDF, or of the given text
    status   varchar not null,           -- ok, or why the text is missing or doubtful
    pages    integer,
    abstract varchar,                    -- as found in the PDF
    text     varchar,                    -- body without references and appendices
    notes    varchar[] not null
);

-- name: text_words
-- one row per paper, page of its PDF and fate of words: the number of words with that fate
create table if not exists text_words (
    paper_id varchar not null,
    page     integer not null check (page >= 0),      -- from 1; 0 for a given text, which has no pages
    fate     varchar not null,                        -- kept, hidden, or the rule that dropped them
    words    integer not null check (words > 0),
    primary key (paper_id, page, fate)
);

-- name: synopses
-- one row per paper, kind and writer: the synopsis on which GEM-S conditions
create table if not exists synopses (
    paper_id varchar not null,
    kind     varchar not null check (kind in ('assw', 'categories')),
    writer   varchar not null,
    text     varchar not null,
    primary key (paper_id, kind, writer)
);

-- name: replies
-- one row per requested text: the outcome of the last attempt
create table if not exists replies (
    task          varchar not null check (task in ('review', 'judgments', 'assw')),
    item          varchar not null,      -- review_id, or paper_id for assw
    writer        varchar not null,
    outcome       varchar not null,      -- ok, or why there is no text
    detail        varchar not null,
    final         boolean not null,      -- whether another attempt cannot succeed
    thinking      integer not null,      -- characters of reasoning that were removed
    prompt_tokens integer,
    reply_tokens  integer,
    archived      boolean not null,      -- whether the reply came from the reply archive
    run_id        varchar not null,
    primary key (task, item, writer)
);

-- name: draws
-- one row: how the sample was chosen
create table if not exists draws (
    papers          integer not null,
    seed            integer not null,
    reference_count varchar default '2', -- references of a paper: a number, or all
    min_reviews     integer not null,
    roles           varchar not null,
    candidate_slot  integer not null,
    reference_slots integer[] not null,
    avoid_learnt    varchar[] default [], -- models and writers whose training papers were left out
    known           integer not null,    -- number of known papers when the sample was chosen
    eligible        integer not null,
    drawn_at        timestamptz not null
);

-- name: sample
-- one row per paper of the sample and human role: the candidate (0) and the references (1, 2, ...)
create table if not exists sample (
    paper_id  varchar not null,
    position  integer not null,          -- place of the paper in the edition, from 0
    role      varchar not null check (role in ('candidate', 'reference')),
    place     integer not null,
    review_id varchar not null,
    primary key (paper_id, place)
);

-- name: candidates
-- one row per candidate
create table if not exists candidates (
    candidate_id varchar primary key,
    kind         varchar not null check (kind in ('human', 'model', 'control', 'change', 'graded')),
    model        varchar,
    prompt       varchar,
    guideline    varchar,
    change       varchar,
    group_name   varchar,               -- candidates are ranked within a group; null: the board's main group
    note         varchar                -- a note for readers
);

-- name: word_counts
-- one row per text that a metric reads: its words; only in editions loaded from a release, whose texts may be withheld
create table if not exists word_counts (
    candidate_id varchar not null,
    paper_id     varchar not null,
    source       varchar not null,       -- judgments or review
    writer       varchar not null,
    form         varchar not null,
    cut          integer not null,       -- maximum number of characters of a review that the metric reads
    words        integer not null,
    primary key (candidate_id, paper_id, source, writer, form, cut)
);

-- name: signatures
-- one row per signature: everything that a score depends on, except its texts
create table if not exists signatures (
    signature_id    varchar primary key,
    metric          varchar not null,
    prompt_sha256   varchar not null,
    evaluation_lm   varchar not null,
    lm_digest       varchar not null,
    dtype           varchar not null,
    quantisation    varchar not null,
    attention       varchar not null,
    template_digest varchar not null,
    writer          varchar not null,
    synopsis_writer varchar not null,
    form            varchar not null,
    text_cut        varchar not null,
    ascii_fold      boolean not null,
    engine_version  varchar not null,
    chance          varchar default 'none'  -- how reviews of other papers are chosen, if the metric uses them
);

-- name: plan
-- one row per planned pair: whether it is due to be scored or waits for a text, or why it cannot be scored
create table if not exists plan (
    signature_id varchar not null,
    paper_id     varchar not null,
    candidate_id varchar not null,
    reference_id varchar not null,
    state        varchar not null check (state in ('due', 'waiting', 'excluded', 'failed')),
    reason       varchar,
    detail       varchar,
    run_id       varchar not null,
    primary key (signature_id, paper_id, candidate_id, reference_id),
    check ((state = 'due') = (reason is null))
);

-- name: spans
-- one row per evaluation LM and prediction: the reply's log-probability, token by token (nats)
create table if not exists spans (
    lm_id      varchar not null,         -- digest of the evaluation LM's identity
    prediction varchar not null,         -- content address of (prompt, synopsis, x, reply)
    total      double not null check (isfinite(total) and total <= 1e-6),
    ids        integer[] not null,
    logprobs   float[] not null,
    escaped    integer not null,         -- number of control tokens that were escaped in its texts
    primary key (lm_id, prediction),
    check (len(ids) = len(logprobs))
);

-- name: scores
-- one row per finished pair: its score in the metric's unit, or the final problem instead of a score
create table if not exists scores (
    signature_id    varchar not null references signatures (signature_id),
    paper_id        varchar not null,
    candidate_id    varchar not null,
    reference_id    varchar not null,
    value           double check (isfinite(value)),
    problem         varchar,
    problem_message varchar,
    broken          boolean not null,    -- the evaluation LM itself misbehaved
    predictions     varchar[] not null,  -- ids of its terms in the table spans; for GEM: the conditional, the marginal
    run_id          varchar not null,
    primary key (signature_id, paper_id, candidate_id, reference_id),
    check ((value is null) <> (problem is null))
);

-- name: stand_ins
-- one row per signature and pair of candidates' reviews of a paper: the score of one against the other (study references)
create table if not exists stand_ins (
    signature_id varchar not null,
    paper_id     varchar not null,
    candidate_id varchar not null,
    review_id    varchar not null,       -- the candidate's review
    reference_by varchar not null,       -- candidate whose review replaces a human reference
    reference_id varchar not null,
    value        double check (isfinite(value)),
    cut          double check (isfinite(cut)),  -- the score if this other review is cut to a reference's tokens
    problem      varchar,
    predictions  varchar[] not null,     -- ids of its terms in the table spans
    run_id       varchar not null,
    primary key (signature_id, paper_id, review_id, reference_id),
    check ((value is null) <> (problem is null))
);

-- name: committees
-- one row per signature, committee of two or more reviewers and reference: the score of their joined reviews (study
-- committee)
create table if not exists committees (
    signature_id varchar not null,
    paper_id     varchar not null,
    reference_id varchar not null,
    members      varchar not null,       -- names of the candidates, sorted and joined by ' and '
    value        double check (isfinite(value)),
    repeats      integer not null,       -- number of repeated lines, which were joined only once
    problem      varchar,
    predictions  varchar[] not null,     -- ids of its terms in the table spans
    run_id       varchar not null,
    primary key (signature_id, paper_id, reference_id, members),
    check ((value is null) <> (problem is null))
);

-- name: problems
-- one row per transient problem: the pair stays missing, and the next run tries it again
create table if not exists problems (
    run_id       varchar not null,
    signature_id varchar not null,
    paper_id     varchar not null,
    candidate_id varchar not null,
    reference_id varchar not null,
    problem      varchar not null,
    message      varchar not null,
    happened_at timestamptz not null
);

-- name: separation
-- one row per signature: how often a same-paper score exceeds an other-paper score (AUC, 95% interval by paper)
create table if not exists separation (
    signature_id varchar primary key,
    same         varchar not null,
    other        varchar not null,
    same_pairs   integer not null,
    other_pairs  integer not null,
    auc          double not null check (auc between 0 and 1),
    low          double not null check (isfinite(low)),
    high         double not null check (isfinite(high)),
    left_out     integer default 0       -- number of papers left out: the LM or the writer was trained on them
);

-- name: effects
-- one row per signature and change (perturbation): its effect on the metric and the verdict, or why there is no effect
create table if not exists effects (
    signature_id  varchar not null references signatures (signature_id),
    change        varchar not null,
    candidate_id  varchar not null,
    family        varchar not null check (family in ('degradation', 'manipulation')),
    made_by       varchar not null,      -- what made the change: a rule or an LM
    d             double check (isfinite(d)),
    low           double,                -- 95%, by paper
    high          double,
    p             double,                -- two-sided, by paper
    p_holm        double,                -- over the degradations of the signature
    flat_low      double,                -- the published interval, which treats pairs as independent
    flat_high     double,
    flat_p        double,
    length_d      double,                -- d of the scores with length held fixed
    length_low    double,
    length_high   double,
    mean_before   double,
    mean_after    double,
    pairs         integer not null,      -- scored both before and after
    planned       integer not null,
    papers        integer not null,
    method        varchar,
    verdict       varchar not null check (verdict in ('pass', 'fail', 'undecided')),
    paper_verdict varchar check (paper_verdict in ('pass', 'fail')),
    problem       varchar,
    run_id        varchar not null,
    primary key (signature_id, change),
    check ((d is null) = (problem is not null))
);

-- name: validations
-- one row per signature: the result of its validation, here or in another edition; no row: never validated
create table if not exists validations (
    signature_id varchar primary key,
    verdict      varchar not null check (verdict in ('pass', 'fail', 'undecided')),
    edition      varchar not null,       -- the edition on which it was validated
    detail       varchar not null,       -- perturbations that it does not pass, and perturbations that were not tried
    validated_at timestamptz not null
);

-- name: agreements
-- one row per signature and coefficient: correlation of a metric's scores with reviews' grades, or why there is none
create table if not exists agreements (
    signature_id     varchar not null references signatures (signature_id),
    kind             varchar not null check (kind in ('spearman', 'kendall', 'pearson')),
    value            double check (isfinite(value)),
    low              double,             -- 95%, items with their reviews resampled
    high             double,
    p                double,
    flat_p           double,             -- treats reviews as independent
    within           double,             -- among the reviews of one item
    within_low       double,
    within_high      double,
    at_length        double,             -- with log length held fixed
    at_length_low    double,
    at_length_high   double,
    over_length      double,             -- less the coefficient of length alone, on the same reviews
    over_length_low  double,
    over_length_high double,
    over_length_p    double,
    reviews          integer not null,
    items            integer not null,
    graded           integer not null,
    problem          varchar,
    run_id           varchar not null,
    primary key (signature_id, kind),
    check ((value is null) = (problem is not null))
);

-- name: exposures
-- one row per role and name of an LM or writer: whether its training data may contain the edition's reviews
create table if not exists exposures (
    role     varchar not null check (role in ('candidate', 'evaluation_lm', 'writer', 'synopsis_writer')),
    name     varchar not null,
    status   varchar not null check (status in ('clean', 'contaminated', 'unknown', 'none')),
    family   varchar,
    cutoff   date,                       -- last day of its training texts
    released date,                       -- day on which the edition's reviews became public
    learnt   integer,                    -- number of the edition's papers in its register; null: it has no register
    papers   integer,                    -- papers that were compared with its register
    register varchar,                    -- digest of its register
    primary key (role, name),
    check (status not in ('clean', 'contaminated') or (cutoff is not null and released is not null)
           or learnt is not null)
);

-- name: rank_statistics
-- one row per board, signature and ranked candidate: the uncertainty of its rank, as of the last completed refresh
-- The tests are Student's t tests over papers: between every two ranked candidates of a group, and of each candidate
-- against chance. They are Holm-corrected together.
create table if not exists rank_statistics (
    board             varchar not null check (board in ('clean', 'all')),
    signature_id      varchar not null references signatures (signature_id),
    candidate_id      varchar not null,
    rank              integer not null,
    rank_low          integer,           -- range of ranks that the tests allow: 95%, for all ranks at once
    rank_high         integer,
    likely_low        integer,           -- no longer computed; nor are likely_high and more_papers
    likely_high       integer,
    next_candidate    varchar,           -- the candidate ranked next below
    next_difference   double,            -- its difference from the next candidate, paired by paper
    next_low          double,            -- 90%
    next_high         double,
    next_p            double,            -- Holm-corrected
    tied              boolean,           -- whether the difference from the next is not significant at 5%
    more_papers       integer,           -- no longer computed
    difference_p_holm double,            -- p-value of the difference from the human baseline, Holm-corrected
    tests             integer not null,
    problem           varchar,           -- why there are no tests
    run_id            varchar not null,
    above_p_holm      double,            -- p-value of its score above chance, Holm-corrected
    primary key (board, signature_id, candidate_id),
    check ((rank_low is null) = (problem is not null))
);

-- name: pair_tests
-- one row per board, signature and two ranked candidates of a group: the tests of their order, as of the last completed
-- refresh
-- Holm's correction covers these tests together with the tests against chance in rank_statistics.
create table if not exists pair_tests (
    board        varchar not null check (board in ('clean', 'all')),
    signature_id varchar not null,
    first        varchar not null,
    second       varchar not null,
    difference   double not null,        -- mean over papers, first minus second
    low          double not null,        -- 90%
    high         double not null,
    sd           double not null,        -- standard deviation of a paper's difference, over papers
    p            double not null,        -- Student's, two-sided, paired by paper, not corrected
    p_holm       double not null,        -- corrected
    papers       integer not null,       -- number of papers on which both have scores
    ahead        integer not null,       -- papers on which the first is ahead
    behind       integer not null,
    median       double not null,
    trimmed      double not null,        -- mean without the 10% of papers at either end
    trimmed_low  double not null,        -- one-sided 95%
    trimmed_high double not null,
    sign_p       double not null,        -- of the sign test
    run_id       varchar not null,
    primary key (board, signature_id, first, second)
);

-- name: differences
-- one row per signature and candidate: Student's t test of its difference from the human baseline, as of the last
-- completed refresh
create table if not exists differences (
    signature_id varchar not null references signatures (signature_id),
    candidate_id varchar not null,
    p            double not null check (p between 0 and 1), -- two-sided, paired by paper, not corrected
    papers       integer not null,
    run_id       varchar not null,
    primary key (signature_id, candidate_id)
);

-- name: profiles
-- one row per signature and candidate: the length of its reviews, its score at the human length, and its cost
create table if not exists profiles (
    signature_id   varchar not null references signatures (signature_id),
    candidate_id   varchar not null,
    words          double,               -- mean number of words of the text that the metric reads
    human_words    double,               -- length of human reviews (geometric mean), at which the score is estimated
    at_length      double check (isfinite(at_length)),
    at_length_low  double,               -- 90%, by paper
    at_length_high double,
    asked          integer not null,     -- number of requested texts: its reviews and their judgments
    unusable       integer not null,     -- of these, texts that cannot be used: refused, empty, cut, no judgment
    judged         integer not null,     -- reviews that the signature's writer judged
    unparsable     integer not null,     -- of these, reviews without any judgment
    lines          integer not null,     -- lines of these judgments
    strays         integer not null,     -- of these, lines with none of the four openings
    prompt_tokens  bigint,               -- null: an endpoint did not state the number
    reply_tokens   bigint,
    usd            double,               -- at the listed prices; null: a price or a count is unknown
    conflict       varchar,              -- an evaluation LM or writer of the same model family as the candidate
    run_id         varchar not null,
    median_lines   double,               -- median number of judgments per review, over reviews with judgments
    human_lines    double,               -- the same for the human baseline
    covered        double,               -- mean share of a review's distinct words that its judgments keep; 0 without any
    primary key (signature_id, candidate_id)
);

-- name: lengths
-- one row per signature and candidate: the numbers of words of its shortest and longest text that the metric reads
create table if not exists lengths (
    signature_id varchar not null,
    candidate_id varchar not null,
    shortest     integer not null check (shortest > 0),
    longest      integer not null check (longest >= shortest),
    run_id       varchar not null,
    primary key (signature_id, candidate_id)
);

-- name: moved
-- one row per writer of judgments, candidate and paper: the candidate's review of another paper, which gives its chance score
create table if not exists moved (
    writer       varchar not null,       -- writer, as in signatures; reviews without judgments by this writer are not moved
    candidate_id varchar not null,
    paper_id     varchar not null,
    review_id    varchar not null,
    swap         varchar not null,       -- papers that exchange their reviews share this id: they are one independent unit
    primary key (writer, candidate_id, paper_id)
);

-- name: chance
-- one row per signature and candidate: how far its reviews score above its own reviews of other papers, as of the last
-- completed refresh
-- The tests are Student's t tests over swaps of reviews: papers that exchange their reviews are one unit.
create table if not exists chance (
    signature_id varchar not null references signatures (signature_id),
    candidate_id varchar not null,
    chance       double not null check (isfinite(chance)),  -- mean score of the reviews of other papers
    above        double not null check (isfinite(above)),   -- mean difference, on the pairs that have both scores
    above_low    double,                                    -- 90%; null: fewer than two exchanges
    above_high   double,
    above_p      double,                                    -- two-sided, not corrected
    papers       integer not null,
    swaps        integer not null,
    run_id       varchar not null,
    primary key (signature_id, candidate_id),
    check ((above_low is null) = (above_p is null))
);

-- name: student_t
-- one row per degrees of freedom: quantiles of Student's t for two-sided 90% and 95% intervals
create table if not exists student_t (
    df  integer primary key,
    q90 double not null,
    q95 double not null
);

-- name: board
-- one row per board, signature and candidate: the values that the board shows, from the scores in this store (see fill_board)
-- The board 'clean' does not rank candidates that are known to be contaminated; the board 'all' does.
create table if not exists board (
    board               varchar not null,
    metric              varchar not null,
    rank                bigint,
    candidate           varchar not null,
    kind                varchar not null,
    score               double,
    low                 double,
    high                double,
    flat_low            double,
    flat_high           double,
    vs_human            double,
    vs_human_low        double,
    vs_human_high       double,
    p                   double,
    p_alone             double,
    vs_human_papers     bigint,
    vs_human_units      bigint,
    above_chance        double,
    above_chance_low    double,
    above_chance_high   double,
    above_chance_p      double,
    above_chance_p_holm double,
    surely_above_chance boolean,
    expected            bigint not null,
    planned             bigint not null,
    scored              bigint not null,
    failed              bigint not null,
    excluded            bigint not null,
    missing             bigint not null,
    papers              bigint not null,
    unranked            varchar,
    validation          varchar not null,
    rank_low            integer,
    rank_high           integer,
    next_candidate      varchar,
    next_p              double,
    tied                boolean,
    tests               integer,
    untested            varchar,
    words               double,
    human_words         double,
    at_length           double,
    at_length_low       double,
    at_length_high      double,
    extrapolated        boolean,
    shortest            integer,
    longest             integer,
    asked               integer,
    unusable            integer,
    judged              integer,
    unparsable          integer,
    lines               integer,
    strays              integer,
    median_lines        double,
    human_lines         double,
    covered             double,
    few_lines           boolean not null,
    prompt_tokens       bigint,
    reply_tokens        bigint,
    usd                 double,
    conflict            varchar,
    contamination       varchar not null,
    cutoff              date,
    model               varchar,
    guideline           varchar,
    group_name          varchar,
    note                varchar,
    signature_id        varchar not null,
    plan_papers         bigint,
    expected_papers     bigint,
    sampled             bigint not null
);

-- name: strata
-- one row per signature, human baseline or model, and stratum of papers: its scores on these papers (see fill_strata)
create table if not exists strata (
    signature_id    varchar not null,
    stratum         varchar not null,
    value           varchar not null,
    candidate       varchar not null,
    kind            varchar not null,
    papers          bigint not null,
    score           double,
    low             double,
    high            double,
    vs_human        double,
    vs_human_low    double,
    vs_human_high   double,
    vs_human_papers bigint
);
