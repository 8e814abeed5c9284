// Where ranks that know nothing of each other meet: a Redis server, or a folder that all see.
#pragma once

#include "allreduce_lab/options.hpp"

#include <gloo/rendezvous/store.h>
#include <memory>
#include <string>
#include <vector>

namespace allreduce_lab {

/// Keys of this run, all of which begin with --prefix. Those that this rank set are taken back at
/// the end, and no others are touched.
class Rendezvous : public gloo::rendezvous::Store {
  public:
    using Milliseconds = std::chrono::milliseconds;

    /// Throws bench::UsageError if Redis does not answer or the folder cannot be used.
    explicit Rendezvous(const Options& options);
    ~Rendezvous() override;
    Rendezvous(const Rendezvous&) = delete;
    Rendezvous& operator=(const Rendezvous&) = delete;
    Rendezvous(Rendezvous&&) = delete;
    Rendezvous& operator=(Rendezvous&&) = delete;

    /// Throws bench::UsageError if the key is there already: of an earlier run.
    void set(const std::string& key, const std::vector<char>& data) override;
    std::vector<char> get(const std::string& key) override;
    void wait(const std::vector<std::string>& keys) override;
    /// Throws bench::UsageError if nobody sets them in time.
    void wait(const std::vector<std::string>& keys, const Milliseconds& timeout) override;

    /// Where it is, for sentences.
    [[nodiscard]] const std::string& place() const { return place_; }

  private:
    class Redis;
    class Folder;

    template <class Ask>
    auto ask(Ask question);
    [[nodiscard]] std::string full(const std::string& key) const { return prefix_ + "/" + key; }

    std::string prefix_;
    std::string place_;
    Milliseconds timeout_;
    std::shared_ptr<Redis> redis_;
    std::shared_ptr<Folder> folder_;
    gloo::rendezvous::Store* store_ = nullptr;
};

} // namespace allreduce_lab
